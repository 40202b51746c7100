"""The adapters of the service, asking the providers of a world in this process."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from cs.outside.guard import Guard
from cs.outside.port import Response
from cs.outside.resolver import DnsResolver
from cs.plugins.sources import SourceContext
from cs.plugins.verifiers import VerifierContext
from cs.sandbox import ADAPTERS, KEY
from cs.sandbox.providers.server import ProviderServer
from cs.sandbox.servers import HttpRequest
from cs.sandbox.shapes import World
from cs.sources.brand import company_enrich, search_panel
from cs.sources.people import apollo, brave, hunter, people_data_labs, serper
from cs.verifiers.services import (
    hunter as hunter_verifier,
)
from cs.verifiers.services import (
    kickbox,
    millionverifier,
    neverbounce,
    reacher,
    zerobounce,
)
from harness.in_memory import memory_budgets

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
BASE = "http://127.0.0.1:9"
PEOPLE: Mapping[str, Any] = {
    "brave": brave,
    "serper": serper,
    "hunter": hunter,
    "pdl": people_data_labs,
    "apollo": apollo,
}
BRANDS: Mapping[str, Any] = {"pdl": company_enrich, "serper": search_panel}
VERIFIERS: Mapping[str, Any] = {
    "hunter": hunter_verifier,
    "kickbox": kickbox,
    "millionverifier": millionverifier,
    "neverbounce": neverbounce,
    "reacher": reacher,
    "zerobounce": zerobounce,
}


class PlayedProviders:
    """An `ApiClient` of which the providers of *world* take every call, and adapters over it.

    Attributes:
        budgets: Where the adapters count what they spend.
    """

    def __init__(self, world: World, *, key: str = KEY) -> None:
        self._server = ProviderServer(world)
        self._key = key
        self.budgets = memory_budgets()

    async def get(
        self,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        return await self._answer(url, dict(params or {}), headers or {}, b"")

    async def post(
        self, url: str, *, body: bytes, headers: Mapping[str, str] | None = None
    ) -> Response:
        return await self._answer(url, {}, headers or {}, body)

    async def _answer(
        self,
        url: str,
        query: dict[str, str],
        headers: Mapping[str, str],
        body: bytes,
    ) -> Response:
        request = HttpRequest(
            path=url.removeprefix(BASE),
            query=query,
            headers={name.lower(): value for name, value in headers.items()},
            body=body,
        )
        reply = await self._server.respond(request)
        assert reply is not None
        low = {name.lower(): value for name, value in reply.headers.items()}
        return Response(status=reply.status, headers=low, body=reply.body, url=url)

    async def bill(self) -> dict[str, Any]:
        answer = await self.get(f"{BASE}/bill")
        bill: dict[str, Any] = msgspec.json.decode(answer.body)
        return bill

    def people(self, name: str) -> Any:
        return PEOPLE[name].from_context(self._source_context(name))

    def brands(self, name: str) -> Any:
        return BRANDS[name].from_context(self._source_context(name))

    def verifier(self, name: str) -> Any:
        context = VerifierContext(
            settings={
                "url": f"{BASE}/{name}{ADAPTERS['verifiers'][name]}",
                "key": self._key,
                "burst": 10,
            },
            fetcher=self,
            resolver=DnsResolver(("127.0.0.1", 1), timeout_s=0.1),
            guard=Guard(),
            now=lambda: NOW,
            monotonic=lambda: 0.0,
            budgets=self.budgets,
        )
        return VERIFIERS[name].from_context(context)

    def _source_context(self, name: str) -> SourceContext:
        return SourceContext(
            trusted=self,
            guarded=self,
            settings={"url": f"{BASE}/{name}", "key": self._key, "burst": 1000},
            now=lambda: NOW,
            budgets=self.budgets,
        )
