"""Wikidata and SearXNG over a world, and how each fails when the world says so.

Wikidata's shapes are those of its api.php with format=json and formatversion=1, as far as they
are read; SearXNG's those of its JSON search.
"""

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from cs.sandbox.drawing import fold, mentions
from cs.sandbox.page_index import PageIndex
from cs.sandbox.servers import HttpReply, HttpRequest, json_reply
from cs.sandbox.shapes import Brand, Service, World
from cs.sandbox.sites import home_of

_MAX_IDS = 50
_MAX_FOUND = 50
_BUSINESS, _BRAND = "Q4830453", "Q431289"
_LAG = {
    "code": "maxlag",
    "info": "Waiting for db1001: 7.3 seconds lagged.",
    "host": "db1001",
    "lag": 7.3,
    "type": "db",
}
#: Results of SearXNG on one page.
_PER_PAGE = 10


def _failed(state: Service) -> HttpReply | None:
    """Return what a service in *state* sends instead of an answer; ``None`` if it answers."""
    failure = state.failure
    wait = failure.retry_after_s
    headers = {} if wait is None else {"Retry-After": str(wait)}
    match failure.kind:
        case "status":
            body = f"<h1>{failure.code}</h1>".encode()
            reply = HttpReply(status=failure.code, body=body, headers=headers)
        case "not_json":
            reply = HttpReply(body=b"<!doctype html><title>Maintenance</title><p>Back soon.")
        case "json_disabled":
            reply = HttpReply(status=403, body=b"<h1>403 Forbidden</h1>")
        case "maxlag":
            waiting = {"Retry-After": "5", "X-Database-Lag": "7", **headers}
            reply = json_reply({"error": _LAG, "servedby": "sandbox"}, headers=waiting)
        case _:
            return None
    return replace(reply, after_s=state.latency_s)


class SearxngServer:
    """SearXNG: `respond` answers one request to ``/search``."""

    def __init__(self, world: World) -> None:
        usual = world.services.searxng
        self._usual: Service = usual
        self._pages = PageIndex(world, "searxng", coverage=usual.coverage)
        self._troubled = [
            (brand.trouble.searxng, (brand.name, *brand.aliases, brand.domain))
            for brand in world.brands
            if brand.trouble.searxng
        ]

    async def respond(self, request: HttpRequest) -> HttpReply | None:
        text = request.query.get("q", "").strip()
        own = (state for state, names in self._troubled if _mentions_any(text, names))
        state = next(own, self._usual)
        if state.failure.kind == "down":
            return None
        if failure := _failed(state):
            return failure
        silent = state.failure.engines if state.failure.kind == "unresponsive" else ()
        pages = [] if silent else self._pages.find(text)[:_PER_PAGE]
        results = [{"url": p.url, "title": p.title, "content": p.content} for p in pages]
        answer = {"query": text, "results": results, "unresponsive_engines": silent}
        return json_reply(answer, after_s=state.latency_s)


class WikidataServer:
    """Wikidata's API: `respond` answers one request, whatever its path."""

    def __init__(self, world: World) -> None:
        self._usual = world.services.wikidata
        self._entries = {entry.id: entry for entry in _entries(world)}

    async def respond(self, request: HttpRequest) -> HttpReply | None:
        query = request.query
        state = self._state(query.get("search") or query.get("ids") or "")
        if state.failure.kind == "down":
            return None
        if failure := _failed(state):
            return failure
        answer: dict[str, Any]
        match query.get("action"):
            case "wbsearchentities":
                text = query.get("search", "")
                hits = [hit for each in self._entries.values() if (hit := each.hit(text))]
                hits.sort(key=lambda hit: fold(hit["match"]["text"]) != fold(text))
                answer = {"search": hits[:_MAX_FOUND], "success": 1}
            case "wbgetentities":
                ids = query.get("ids", "").split("|")[:_MAX_IDS]
                known = {each: self._entries.get(each) for each in ids}
                answer = {
                    "entities": {
                        each: entry.entity() if entry else {"id": each, "missing": ""}
                        for each, entry in known.items()
                    },
                    "success": 1,
                }
            case other:
                info = f'Unrecognized value for parameter "action": {other}.'
                answer = {"error": {"code": "badvalue", "info": info}}
        return json_reply(answer, after_s=state.latency_s)

    def _state(self, asked: str) -> Service:
        """Return the state of the service for what is *asked*, a text or ids."""
        ids = asked.split("|")
        for entry in self._entries.values():
            own = entry.brand.trouble.wikidata if entry.brand else None
            if own and (entry.id in ids or _mentions_any(asked, entry.names)):
                return own
        return self._usual


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One item of Wikidata; ``brand`` is None where it only shares a brand's name."""

    id: str
    names: tuple[str, ...]  # the label, then its aliases
    description: str
    instance_of: str
    brand: Brand | None = None
    parent_id: str | None = None

    def hit(self, text: str) -> dict[str, Any] | None:
        """Return the item as found by *text*, which must begin its label or an alias."""
        for n, name in enumerate(self.names):
            if fold(name).startswith(fold(text)):
                kind = "alias" if n else "label"
                return {
                    "id": self.id,
                    "label": self.names[0],
                    "description": self.description,
                    "match": {"type": kind, "language": "en", "text": name},
                }
        return None

    def entity(self) -> dict[str, Any]:
        """Return the item as wbgetentities does."""
        label, *aliases = self.names
        claims: dict[str, list[dict[str, Any]]] = {}
        for name, value, extra in self._statements():
            statement = {"mainsnak": _snak(value), "rank": "normal"} | extra
            claims.setdefault(name, []).append(statement)
        return {
            "type": "item",
            "id": self.id,
            "labels": {"en": {"language": "en", "value": label}},
            "aliases": {"en": [{"language": "en", "value": alias} for alias in aliases]},
            "claims": claims,
            "sitelinks": {"enwiki": {"site": "enwiki", "title": label}},
        }

    def _statements(self) -> Iterator[tuple[str, object, dict[str, Any]]]:
        """Yield property, value and the rest of each statement."""
        yield "P31", {"id": self.instance_of}, {}
        brand = self.brand
        if brand is None:
            return
        for n, former in enumerate(brand.site.former):
            # One ended, the next deprecated: both kinds of old website are met in the wild.
            old = _ENDED if n % 2 == 0 else {"rank": "deprecated"}
            yield "P856", f"http://{former}/", old
        current = {"rank": "preferred"} if brand.site.former else {}
        yield "P856", f"https://{home_of(brand)}/", current
        handles = {"P4264": brand.linkedin, "P2003": brand.instagram, "P7085": brand.tiktok}
        for name, value in handles.items():
            if value:
                yield name, value, {}
        if self.parent_id:
            yield "P749", {"id": self.parent_id}, {}


def _snak(value: object) -> dict[str, Any]:
    return {"snaktype": "value", "datavalue": {"value": value}}


_ENDED = {"qualifiers": {"P582": [_snak({"time": "+2021-06-30T00:00:00Z"})]}}


def _entries(world: World) -> Iterator[_Entry]:
    """Yield the items of *world*; ids follow from its seed."""
    items = {f"{n} {item.label}": item for n, item in enumerate(world.items)}
    ids = _ids(world.seed, [*(brand.domain for brand in world.brands), *items])
    domains = {brand.name: brand.domain for brand in world.brands}
    for brand in world.brands:
        if "wikidata" in brand.known_by:
            yield _Entry(
                id=ids[brand.domain],
                names=(brand.name, *brand.aliases),
                description=brand.description,
                instance_of=_BRAND if brand.parent else _BUSINESS,
                brand=brand,
                parent_id=ids[domains[brand.parent]] if brand.parent else None,
            )
    for key, item in items.items():
        yield _Entry(
            id=ids[key],
            names=(item.label,),
            description=item.description,
            instance_of=item.instance_of,
        )


def _ids(seed: int, names: Iterable[str]) -> dict[str, str]:
    taken: dict[int, str] = {}
    for name in names:
        number = 800_000_000 + zlib.crc32(f"{seed} {name}".encode()) % 90_000_000
        while number in taken:
            number += 1
        taken[number] = name
    return {name: f"Q{number}" for number, name in taken.items()}


def _mentions_any(text: str, names: Iterable[str]) -> bool:
    return any(mentions(text, name) for name in names)
