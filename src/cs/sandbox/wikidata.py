"""Wikidata's API over the brands of a world: wbsearchentities and wbgetentities.

Shapes are those of its api.php with format=json and formatversion=1, as far as they are read.
"""

import zlib
from collections.abc import Iterator
from typing import Any

import msgspec

from cs.sandbox.drawing import fold, mentions
from cs.sandbox.failing import failed, json_reply
from cs.sandbox.shapes import Brand, Wikidata, World
from cs.sandbox.sites import home_of
from cs.sandbox.web import HttpReply, HttpRequest

_MAX_IDS = 50
_MAX_FOUND = 50
_BUSINESS, _BRAND = "Q4830453", "Q431289"


class WikidataEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One item; ``brand`` is None where it only shares a brand's name."""

    id: str
    label: str
    description: str
    instance_of: str
    aliases: tuple[str, ...] = ()
    brand: Brand | None = None
    parent_id: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return (self.label, *self.aliases)


def entries(world: World) -> list[WikidataEntry]:
    """Return the items of *world*; ids follow from its seed."""
    ids = _ids(world)
    by_name = {brand.name: brand for brand in world.brands}
    found = [
        WikidataEntry(
            id=ids[brand.domain],
            label=brand.name,
            description=brand.description,
            instance_of=_BRAND if brand.parent else _BUSINESS,
            aliases=brand.aliases,
            brand=brand,
            parent_id=ids[by_name[brand.parent].domain] if brand.parent else None,
        )
        for brand in world.brands
        if "wikidata" in brand.known_by
    ]
    found += [
        WikidataEntry(
            id=ids[f"{n} {item.label}"],
            label=item.label,
            description=item.description,
            instance_of=item.instance_of,
        )
        for n, item in enumerate(world.items)
    ]
    return found


def entity(entry: WikidataEntry) -> dict[str, Any]:
    """Return the item of *entry* as wbgetentities does."""
    return {
        "type": "item",
        "id": entry.id,
        "labels": {"en": {"language": "en", "value": entry.label}},
        "aliases": {"en": [{"language": "en", "value": alias} for alias in entry.aliases]},
        "claims": _claims(entry),
        "sitelinks": {"enwiki": {"site": "enwiki", "title": entry.label}},
    }


def _ids(world: World) -> dict[str, str]:
    """Give every brand's domain and every other item an id of its own."""
    names = [brand.domain for brand in world.brands]
    names += [f"{n} {item.label}" for n, item in enumerate(world.items)]
    taken: dict[int, str] = {}
    for name in names:
        number = 800_000_000 + zlib.crc32(f"{world.seed} {name}".encode()) % 90_000_000
        while number in taken:
            number += 1
        taken[number] = name
    return {name: f"Q{number}" for number, name in taken.items()}


def _claims(entry: WikidataEntry) -> dict[str, list[dict[str, Any]]]:
    claims: dict[str, list[dict[str, Any]]] = {}
    for name, value, extra in _statements(entry):
        statement = {"mainsnak": _snak(value), "rank": "normal"}
        claims.setdefault(name, []).append(statement | extra)
    return claims


def _statements(entry: WikidataEntry) -> Iterator[tuple[str, object, dict[str, Any]]]:
    """Yield property, value and the rest of each statement."""
    yield "P31", {"id": entry.instance_of}, {}
    brand = entry.brand
    if brand is None:
        return
    for n, former in enumerate(brand.site.former):
        # One ended, the next deprecated: both kinds of old website are met in the wild.
        old = _ENDED if n % 2 == 0 else {"rank": "deprecated"}
        yield "P856", f"http://{former}/", old
    current = {"rank": "preferred"} if brand.site.former else {}
    yield "P856", f"https://{home_of(brand)}/", current
    for name, value in (
        ("P4264", brand.linkedin),
        ("P2003", brand.instagram),
        ("P7085", brand.tiktok),
    ):
        if value:
            yield name, value, {}
    if entry.parent_id:
        yield "P749", {"id": entry.parent_id}, {}


def _snak(value: object) -> dict[str, Any]:
    return {"snaktype": "value", "datavalue": {"value": value}}


_ENDED = {"qualifiers": {"P582": [_snak({"time": "+2021-06-30T00:00:00Z"})]}}


class WikidataServer:
    """The API; `respond` answers one request, whatever its path."""

    def __init__(self, world: World) -> None:
        self._usual = world.services.wikidata
        self._entries = {entry.id: entry for entry in entries(world)}

    async def respond(self, request: HttpRequest) -> HttpReply | None:
        query = request.query
        state = self._state(query.get("search") or query.get("ids") or "")
        if failure := failed(state):
            return failure.reply
        match query.get("action"):
            case "wbsearchentities":
                answer = self._search(query.get("search", ""))
            case "wbgetentities":
                answer = self._get(query.get("ids", ""))
            case other:
                info = f'Unrecognized value for parameter "action": {other}.'
                answer = {"error": {"code": "badvalue", "info": info}}
        return json_reply(answer, after_s=state.latency_s)

    def _state(self, asked: str) -> Wikidata:
        """Return how the service is doing for what is *asked*, a text or ids."""
        ids = asked.split("|")
        for entry in self._entries.values():
            own = entry.brand.trouble.wikidata if entry.brand else None
            if own and (entry.id in ids or any(mentions(asked, n) for n in entry.names)):
                return own
        return self._usual

    def _search(self, text: str) -> dict[str, Any]:
        found = [hit for entry in self._entries.values() if (hit := _hit(entry, text))]
        found.sort(key=lambda hit: fold(hit["match"]["text"]) != fold(text))
        return {"search": found[:_MAX_FOUND], "success": 1}

    def _get(self, ids: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for one in ids.split("|")[:_MAX_IDS]:
            entry = self._entries.get(one)
            found[one] = entity(entry) if entry else {"id": one, "missing": ""}
        return {"entities": found, "success": 1}


def _hit(entry: WikidataEntry, text: str) -> dict[str, Any] | None:
    """Return *entry* as found by *text*, which must begin its label or an alias."""
    for n, name in enumerate(entry.names):
        if fold(name).startswith(fold(text)):
            return {
                "id": entry.id,
                "label": entry.label,
                "description": entry.description,
                "match": {"type": "alias" if n else "label", "language": "en", "text": name},
            }
    return None
