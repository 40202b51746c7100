"""A client that does as docs/http-api.md asks: an idempotency key per search, and patience."""

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx
import msgspec

from cs.operations.operator import NewSecret
from system.faults.promises import Body, ClientAnswer, ClientRequest, FinalState
from system.faults.world import Wish

#: How long a call may take before it is given up and made again.
_CALL_S = 100
# The waits of a caller over real HTTP, to a process that is dead half of the time: between
# polls, before dialling again, and as long as Retry-After asks.  Nothing is timed by them.
_RECONNECT_S = 0.05
_POLL_S = 0.25
#: Longest wait before the next try: a limit may end sooner than Retry-After says.
_PATIENCE_S = 10.0
#: Answers that more patience would not change: no quota, no such search.
_NO = frozenset({402, 404})


@dataclass
class Notebook:
    """The requests of all clients, and their answers."""

    answers: list[ClientAnswer] = field(default_factory=list)
    requests: list[ClientRequest] = field(default_factory=list)
    calls: int = 0
    cut: int = 0  # calls that ended without an answer
    refused: int = 0  # calls answered with an error


class Service(Protocol):
    async def up(self) -> str:
        """Return the base URL of what can be called, as soon as it is known."""


@dataclass
class Caller:
    """Calls *service* with *key* until it is answered, and notes the answers."""

    service: Service
    key: NewSecret
    notes: Notebook
    http: httpx.AsyncClient
    chance: random.Random

    async def want(self, wish: Wish, *, wait: bool) -> Body | None:
        """Search for *wish* and poll to its end; return None if it was refused for good."""
        idempotency_key = f"{self.chance.getrandbits(64):016x}"
        sent_at, noted = time.monotonic(), len(self.notes.requests)
        self.notes.requests.append(
            ClientRequest(self.key.id, idempotency_key, wish, sent_at, None, None)
        )
        body = {**wish.body, "wait": wait}
        record = await self._retry_while_unavailable("POST", "/contacts", idempotency_key, body)
        search = record["id"] if record else None
        answered_at = time.monotonic()
        self.notes.requests[noted] = ClientRequest(
            self.key.id, idempotency_key, wish, sent_at, answered_at, search
        )
        while record is not None and record["status"] == "running":
            await asyncio.sleep(_POLL_S)
            record = await self.read(record["id"])
        return record

    async def read(self, search: str) -> Body | None:
        """Return the search; None if there is none."""
        return await self._retry_while_unavailable("GET", f"/searches/{search}")

    async def usage(self) -> Body:
        answer, _ = await self._answered("GET", "/usage", {}, None)
        found: Body = msgspec.json.decode(answer.content)
        return found

    async def _retry_while_unavailable(
        self,
        method: str,
        path: str,
        idempotency_key: str = "",
        body: dict[str, Any] | None = None,
    ) -> Body | None:
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        answer, sent = await self._answered(method, path, headers, body)
        if answer.status_code in _NO:
            return None
        found: Body = msgspec.json.decode(answer.content)
        self.notes.answers.append(
            ClientAnswer(self.key.id, idempotency_key, sent, time.monotonic(), found)
        )
        return found

    async def _answered(
        self, method: str, path: str, headers: dict[str, str], body: dict[str, Any] | None
    ) -> tuple[httpx.Response, float]:
        """Call until there is an answer that more patience would not change."""
        headers = {"Authorization": f"Bearer {self.key.key}", **headers}
        while True:
            url = await self.service.up() + path
            sent = time.monotonic()
            self.notes.calls += 1
            try:
                answer = await self.http.request(method, url, headers=headers, json=body)
            # The second is anyio's, of a connection that uvloop has lost as it was made.
            except (httpx.TransportError, AttributeError):
                self.notes.cut += 1
                await asyncio.sleep(_RECONNECT_S)
                continue
            if answer.status_code in {200, 202}:
                return answer, sent
            self.notes.refused += 1
            if answer.status_code in _NO:
                return answer, sent
            assert answer.status_code in {429, 500, 503}, answer.text
            retry_after_s = float(answer.headers.get("Retry-After", "0.5"))
            await asyncio.sleep(min(retry_after_s, _PATIENCE_S) * self.chance.uniform(0.5, 1.0))


def http_client() -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    return httpx.AsyncClient(timeout=_CALL_S, trust_env=False, limits=limits)


async def final(callers: Sequence[Caller]) -> FinalState:
    """Read everything again that *callers* know of; one caller a key."""
    searches: dict[str, Body] = {}
    usage: dict[str, Body] = {}
    for caller in callers:
        answers = caller.notes.answers
        for search in sorted(
            {each.body["id"] for each in answers if each.key == caller.key.id}
        ):
            record = await caller.read(search)
            if record is not None:
                searches[search] = record
        usage[caller.key.id] = await caller.usage()
    return FinalState(searches, usage)
