"""Wikidata's API over the brands of a world: wbsearchentities and wbgetentities.

Shapes are those of its api.php with format=json and formatversion=1; the statements
are `cs.sandbox.wikidata_items`'.
"""

from typing import Any

from cs.sandbox.failing import failed, json_reply
from cs.sandbox.folding import fold, mentions
from cs.sandbox.shapes import Wikidata, World
from cs.sandbox.web import HttpReply, HttpRequest
from cs.sandbox.wikidata_items import WikidataEntry, entity, entries

_MAX_IDS = 50
_MAX_FOUND = 50


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
