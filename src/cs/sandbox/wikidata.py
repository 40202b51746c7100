"""Wikidata's API over the brands of a world: wbsearchentities and wbgetentities.

Shapes are those of its api.php with format=json and formatversion=1.
"""

import zlib
from collections.abc import Iterator
from typing import Any

import msgspec

from cs.sandbox.drawing import fold, mentions
from cs.sandbox.failing import failed, json_reply
from cs.sandbox.shapes import Brand, Wikidata, World
from cs.sandbox.web import HttpReply, HttpRequest

_MAX_IDS = 50
_MAX_FOUND = 50
_BUSINESS, _BRAND = "Q4830453", "Q431289"
_GREGORIAN = "http://www.wikidata.org/entity/Q1985727"
_FORMER_UNTIL = "+2021-06-30T00:00:00Z"


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


def entity(entry: WikidataEntry, props: list[str]) -> dict[str, Any]:
    """Return the item of *entry* as wbgetentities does, with the asked *props*."""
    item: dict[str, Any] = {
        "labels": {"en": {"language": "en", "value": entry.label}},
        "descriptions": {"en": {"language": "en", "value": entry.description}},
        "aliases": {"en": [{"language": "en", "value": alias} for alias in entry.aliases]},
        "claims": _claims(entry),
        "sitelinks": {"enwiki": {"site": "enwiki", "title": entry.label, "badges": []}},
    }
    asked = {name: value for name, value in item.items() if name in props}
    return {"type": "item", "id": entry.id} | asked


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
    for name, kind, value, extra in _statements(entry):
        snak = {
            "snaktype": "value",
            "property": name,
            "datavalue": {
                "value": value,
                "type": "wikibase-entityid" if kind == "wikibase-item" else "string",
            },
            "datatype": kind,
        }
        number = sum(map(len, claims.values()))
        statement = {
            "mainsnak": snak,
            "type": "statement",
            "id": f"{entry.id}$SANDBOX-{number}",
            "rank": "normal",
        }
        claims.setdefault(name, []).append(statement | extra)
    return claims


def _statements(entry: WikidataEntry) -> Iterator[tuple[str, str, object, dict[str, Any]]]:
    """Yield property, datatype, value and what else the statement says."""
    yield "P31", "wikibase-item", _item(entry.instance_of), {}
    brand = entry.brand
    if brand is None:
        return
    for n, former in enumerate(brand.site.former):
        # One ended, the next deprecated: both kinds of old website are met in the wild.
        old = _ended() if n % 2 == 0 else {"rank": "deprecated"}
        yield "P856", "url", f"http://{former}/", old
    host = f"www.{brand.domain}" if brand.site.home == "www" else brand.domain
    current = {"rank": "preferred"} if brand.site.former else {}
    yield "P856", "url", f"https://{host}/", current
    for name, value in (
        ("P4264", brand.linkedin),
        ("P2003", brand.instagram),
        ("P7085", brand.tiktok),
    ):
        if value:
            yield name, "external-id", value, {}
    if entry.parent_id:
        yield "P749", "wikibase-item", _item(entry.parent_id), {}


def _item(number: str) -> dict[str, Any]:
    return {"entity-type": "item", "numeric-id": int(number[1:]), "id": number}


def _ended() -> dict[str, Any]:
    until = {
        "time": _FORMER_UNTIL,
        "timezone": 0,
        "before": 0,
        "after": 0,
        "precision": 11,
        "calendarmodel": _GREGORIAN,
    }
    snak = {
        "snaktype": "value",
        "property": "P582",
        "datavalue": {"value": until, "type": "time"},
        "datatype": "time",
    }
    return {"qualifiers": {"P582": [snak]}, "qualifiers-order": ["P582"]}


class WikidataServer:
    """The API; `respond` answers one request, whatever its path."""

    def __init__(self, world: World) -> None:
        self._usual = world.services.wikidata
        self._entries = {entry.id: entry for entry in entries(world)}

    async def respond(self, request: HttpRequest) -> HttpReply | None:
        if not request.headers.get("user-agent"):
            text = b"Please set a user-agent and respect our robot policy"
            return HttpReply(status=403, body=text, content_type="text/plain")
        query = request.query
        state = self._state(query.get("search") or query.get("ids") or "")
        if failure := failed(state):
            return failure.reply
        match query.get("action"):
            case "wbsearchentities":
                answer = self._search(query)
            case "wbgetentities":
                answer = self._get(query)
            case other:
                answer = _error(
                    "badvalue", f'Unrecognized value for parameter "action": {other}.'
                )
        if query.get("format") != "json":
            return HttpReply(body=b"<!doctype html><title>MediaWiki API result</title>")
        headers = {}
        if "error" in answer:
            headers["MediaWiki-API-Error"] = answer["error"]["code"]
        return json_reply(answer, after_s=state.latency_s, headers=headers)

    def _state(self, asked: str) -> Wikidata:
        """Return how the service is doing for what is *asked*, a text or ids."""
        ids = asked.split("|")
        for entry in self._entries.values():
            own = entry.brand.trouble.wikidata if entry.brand else None
            if own and (entry.id in ids or any(mentions(asked, n) for n in entry.names)):
                return own
        return self._usual

    def _search(self, query: dict[str, str]) -> dict[str, Any]:
        for needed in ("search", "language"):
            if not query.get(needed):
                return _error("missingparam", f'The "{needed}" parameter must be set.')
        text = query["search"]
        start = _number(query.get("continue"), 0)
        limit = min(_number(query.get("limit"), 7), _MAX_FOUND)
        found = [hit for entry in self._entries.values() if (hit := _hit(entry, text))]
        found.sort(key=lambda hit: fold(hit["match"]["text"]) != fold(text))
        answer: dict[str, Any] = {
            "searchinfo": {"search": text},
            "search": found[start : start + limit],
        }
        if start + limit < len(found):
            answer["search-continue"] = start + limit
        return answer | {"success": 1}

    def _get(self, query: dict[str, str]) -> dict[str, Any]:
        ids = [one for one in query.get("ids", "").split("|") if one]
        if not ids:
            return _error(
                "param-missing", 'Either provide the Item "ids" or "sites" and "titles"'
            )
        if len(ids) > _MAX_IDS:
            return _error("toomanyvalues", f'Too many values supplied for "ids": {_MAX_IDS}.')
        props = query.get("props", "info|sitelinks|aliases|labels|descriptions|claims")
        found: dict[str, Any] = {}
        for one in ids:
            entry = self._entries.get(one)
            found[one] = (
                entity(entry, props.split("|")) if entry else {"id": one, "missing": ""}
            )
        return {"entities": found, "success": 1}


def _hit(entry: WikidataEntry, text: str) -> dict[str, Any] | None:
    """Return *entry* as found by *text*, which must begin its label or an alias."""
    for n, name in enumerate(entry.names):
        if fold(name).startswith(fold(text)):
            return {
                "id": entry.id,
                "title": entry.id,
                "pageid": int(entry.id[1:]),
                "concepturi": f"http://www.wikidata.org/entity/{entry.id}",
                "repository": "wikidata",
                "url": f"//www.wikidata.org/wiki/{entry.id}",
                "display": {
                    "label": {"value": entry.label, "language": "en"},
                    "description": {"value": entry.description, "language": "en"},
                },
                "label": entry.label,
                "description": entry.description,
                "match": {"type": "alias" if n else "label", "language": "en", "text": name},
                **({"aliases": [name]} if n else {}),
            }
    return None


def _number(text: str | None, default: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() else default


def _error(code: str, info: str) -> dict[str, Any]:
    return {"error": {"code": code, "info": info}, "servedby": "sandbox"}
