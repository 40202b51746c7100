"""The adapters of the service, asking the providers of a world in this process."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from cs.outside.port import Response
from cs.plugins.contracts.stand_in import source_context, verifier_context
from cs.plugins.entry_points import Group
from cs.sandbox import ADAPTERS, KEY
from cs.sandbox.providers.server import ProviderServer
from cs.sandbox.servers import HttpRequest
from cs.sandbox.shapes import World
from harness.clients import plugin
from harness.places import budgets_in

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
BASE = "http://127.0.0.1:9"
PEOPLE = ADAPTERS["sources"].keys()
BRANDS = ("pdl", "serper")
VERIFIERS = ADAPTERS["verifiers"].keys()


class PlayedProviders:
    """An `ApiClient` of which the providers of *world* take every call, and adapters over it.

    Attributes:
        budgets: Where the adapters count what they spend.
    """

    def __init__(self, world: World, *, key: str = KEY) -> None:
        self._server = ProviderServer(world)
        self._key = key
        self.budgets = budgets_in(None)

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
        return self._source(Group.PEOPLE_SOURCES, name)

    def brands(self, name: str) -> Any:
        return self._source(Group.BRAND_SOURCES, name)

    def _source(self, group: Group, name: str) -> Any:
        url = f"{BASE}/{name}"
        context = source_context(self, url=url, key=self._key, burst=1000)
        context = replace(context, now=lambda: NOW, budgets=self.budgets)
        return plugin(group, name, context)

    def verifier(self, name: str) -> Any:
        url = f"{BASE}/{name}{ADAPTERS['verifiers'][name]}"
        context = verifier_context(self, url=url, key=self._key, burst=10)
        context = replace(context, now=lambda: NOW, budgets=self.budgets)
        return plugin(Group.VERIFIERS, name, context)
