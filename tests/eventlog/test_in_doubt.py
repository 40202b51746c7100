"""Commits whose answer is lost: before them, or after them, when all of it is stored."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from contracts.event_log import units
from cs.domain.codec import AnyEvent
from cs.domain.key import SearchAdmitted, SearchSettled
from cs.eventlog.port import NO_STREAM, Append, EventLog, LogUnavailable, WrongExpectedVersion
from harness.in_process import Service, in_memory
from harness.memory_keys import MemoryKeyStore
from harness.outside import tools
from harness.places import around_commits, log_in

pytestmark = pytest.mark.slow

Side = Literal["before", "after"]

SIDES = pytest.mark.parametrize("side", ["before", "after"])


def grant(number: int) -> AnyEvent:
    return units(number)[0]


@dataclass
class Losing:
    """Which commits lose their answers, counted from 1 once armed."""

    side: Side
    which: Callable[[int], bool]
    armed: bool = False
    commits: int = 0
    lost: int = 0

    @asynccontextmanager
    async def log(self, folder: Path, keys: MemoryKeyStore) -> AsyncIterator[EventLog]:
        async with log_in(folder, keys) as log:
            with around_commits(lambda: self._lose("before"), lambda: self._lose("after")):
                yield log

    def _lose(self, side: Side) -> None:
        if self.falls_here(side):
            raise sqlite3.OperationalError("the connection went away")

    def falls_here(self, side: Side) -> bool:
        if side == "before" and self.armed:
            self.commits += 1
        falls = self.armed and self.side == side and self.which(self.commits)
        self.lost += falls
        return falls


def once(side: Side) -> Losing:
    return Losing(side, lambda commit: commit == 1)


# The log by itself.


@SIDES
async def test_a_lost_answer_is_reported_and_the_log_knows_what_it_holds(
    tmp_path: Path, side: Side
) -> None:
    losing = once(side)
    async with losing.log(tmp_path, MemoryKeyStore()) as log:
        await log.append([Append("key-a", NO_STREAM, [grant(1)])])
        losing.armed = True

        with pytest.raises(LogUnavailable, match="the connection went away"):
            await log.append([Append("key-a", 0, [grant(2)])])

        stored = 2 if side == "after" else 1
        assert await log.head() == stored
        assert [r.position for r in await log.tail(0)] == list(range(1, stored + 1))
        assert len(await log.read("key-a")) == stored
        if side == "after":
            with pytest.raises(WrongExpectedVersion):
                await log.append([Append("key-a", 0, [grant(2)])])
        assert await log.append([Append("key-a", stored - 1, [grant(3)])]) == stored + 1
        assert [r.position for r in await log.tail(0)] == list(range(1, stored + 2))


async def test_followers_hear_of_an_append_whose_answer_was_lost(tmp_path: Path) -> None:
    losing = once("after")
    async with losing.log(tmp_path, MemoryKeyStore()) as log:
        losing.armed = True
        with pytest.raises(LogUnavailable):
            await log.append([Append("key-a", NO_STREAM, [grant(1)])])

        async with asyncio.timeout(1):
            await log.grown(0)
        assert [r.event for r in await log.tail(0)] == [grant(1)]


# The service on it.


@dataclass
class OnSqlite(Service):
    log: EventLog

    async def events(self, kind: type[Any]) -> list[Any]:
        await self.log.head()
        return [r.event for r in await self.log.tail(0, 1000) if isinstance(r.event, kind)]


@asynccontextmanager
async def service(folder: Path, losing: Losing) -> AsyncIterator[OnSqlite]:
    keys = MemoryKeyStore()
    async with (
        losing.log(folder, keys) as log,
        in_memory(tools(), keys=keys, log=log, deadline_s=60) as started,
    ):
        yield OnSqlite(started.running, started.operator, log)


@SIDES
@pytest.mark.parametrize("number", [1, 2, 3, 5, 9])
async def test_whichever_commit_loses_its_answer_a_search_ends_and_is_charged_once(
    tmp_path: Path, side: Side, number: int
) -> None:
    losing = Losing(side, lambda commit: commit == number)
    async with service(tmp_path, losing) as running_service:
        key, other = await running_service.new_key(), await running_service.new_key()
        losing.armed = True

        answer = await running_service.search(key, brand="Acme")
        if answer.status_code == 500:
            assert (side, number) == ("before", 1)
            assert set(answer.json()["error"]) == {"code", "message"}
            assert await running_service.events(SearchAdmitted) == []
            answer = await running_service.search(key, brand="Acme")

        assert losing.lost == 1
        assert answer.status_code == 200
        assert (answer.json()["status"], answer.json()["charged"]) == ("done", True)
        assert answer.json()["usage"] == {"quota": 10, "used": 1, "remaining": 9}
        assert len(await running_service.events(SearchAdmitted)) == 1
        assert len(await running_service.events(SearchSettled)) == 1

        losing.side, losing.which = "after", lambda _: True
        reused = (await running_service.search(other, brand="Acme")).json()
        assert losing.lost > 1
        assert (reused["cached"], reused["charged"]) == (True, True)
        assert reused["usage"]["used"] == 1


async def test_a_request_with_an_idempotency_key_is_charged_once_if_every_answer_is_lost(
    tmp_path: Path,
) -> None:
    losing = Losing("after", lambda _: True)
    async with service(tmp_path, losing) as running_service:
        key = await running_service.new_key()
        losing.armed = True
        async with running_service.client(key) as client:
            answers = [
                await client.post(
                    "/contacts",
                    json={"brand": "Acme", "wait": True},
                    headers={"Idempotency-Key": "one"},
                )
                for _ in range(2)
            ]

        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.json()["id"] for answer in answers}) == 1
        assert [answer.json()["usage"]["used"] for answer in answers] == [1, 1]
        assert len(await running_service.events(SearchSettled)) == 1
