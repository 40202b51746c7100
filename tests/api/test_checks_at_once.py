"""Checks that wait for nothing are answered as those that wait, or not at all."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from cs.api.answers import JsonResponse
from cs.api.app import Gate
from cs.assembly.folder_stores import open_folder
from cs.checks.port import CHECKS_PER_MINUTE
from cs.eventlog.streams import Streams
from cs.operations.erasure.person import Erasure
from cs.operations.operator import NewSecret, Operator
from cs.projections.runner import ViewRunner
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import DataFolder
from harness.in_process import Service, on_folder

#: What differs between two answers to the same question.
OF_ONE_ANSWER = frozenset({"x-request-id", "ratelimit", "ratelimit-reset"})


@dataclass
class Asked:
    """A service on a folder, a key of it, and its search that has ended."""

    service: Service
    folder: Path
    key: NewSecret
    search: dict[str, Any]

    @property
    def gate(self) -> Gate:
        gate = self.service.running.app
        assert isinstance(gate, Gate)
        return gate

    @property
    def paths(self) -> tuple[str, str]:
        return "/v1/usage", f"/v1/searches/{self.search['id']}"

    def at_once(self, path: str, method: str = "GET", **headers: str) -> JsonResponse | None:
        sent = {"host": "x", "authorization": f"Bearer {self.key.key}", **headers}
        named = [(name.encode(), value.encode()) for name, value in sent.items()]
        return self.gate.at_once(method, path, named)

    async def waited_for(self, path: str, **headers: str) -> httpx.Response:
        async with self.service.client(self.key) as client:
            return await client.get(path.removeprefix("/v1"), headers=headers)

    def counted(self) -> int:
        checks: Any = self.service.running.api.checks
        return len(checks._times.get(self.key.id, ()))


@pytest.fixture
async def asked(tmp_path: Path) -> AsyncIterator[Asked]:
    async with on_folder(tmp_path) as service:
        key = await service.new_key(100)
        search = (await service.search(key, brand="Acme")).json()
        asked = Asked(service, tmp_path, key, search)
        assert search["status"] == "done"
        for path in asked.paths:
            assert (await asked.waited_for(path)).status_code == 200
        yield asked


def shown(headers: Any) -> Mapping[str, str]:
    return {name: value for name, value in headers if name not in OF_ONE_ANSWER}


async def test_the_answer_is_that_of_who_waits(asked: Asked) -> None:
    for path in asked.paths:
        waited = await asked.waited_for(path)
        at_once = asked.at_once(path)
        for _ in range(20):  # on a busy machine the views may be behind for a moment
            if at_once is None:
                waited = await asked.waited_for(path)
                at_once = asked.at_once(path)

        assert at_once is not None, path
        named = [(name.decode(), value.decode()) for name, value in at_once.raw_headers]
        assert (at_once.status_code, bytes(at_once.body)) == (200, waited.content)
        assert shown(named) == shown(waited.headers.items())
        assert len(named) == len(waited.headers)


async def test_both_count_as_checks(asked: Asked) -> None:
    before = asked.counted()

    left = [asked.at_once(path) for path in asked.paths]

    limits = [dict(each.raw_headers)[b"ratelimit"].decode() for each in left if each]
    of_checks = [f'"checks";r={CHECKS_PER_MINUTE - before - n};' for n in (1, 2)]
    assert [checks in limit for checks, limit in zip(of_checks, limits, strict=True)] == [
        True,
        True,
    ]
    assert asked.counted() == before + 2


async def test_what_is_no_good_check_is_left_to_who_waits_and_not_counted(asked: Asked) -> None:
    usage, search = asked.paths
    other = (await asked.service.new_key()).key
    running = search[:-1] + ("0" if search[-1] != "0" else "1")
    left = {
        "another method": asked.at_once(usage, "HEAD"),
        "a method that there is not": asked.at_once(usage, "POST"),
        "another path": asked.at_once("/v1/nothing"),
        "a query": asked.at_once(f"{usage}?a=b"),
        "an encoded slash": asked.at_once(f"{search}%2F"),
        "more of a path": asked.at_once(f"{search}/x"),
        "the document": asked.at_once("/v1/openapi.json"),
        "a search that there is not": asked.at_once(running),
        "a search of another key": asked.at_once(search, authorization=f"Bearer {other}"),
        "a key that there is not": asked.at_once(usage, authorization="Bearer cs_live_x"),
        "another scheme": asked.at_once(usage, authorization=f"Basic {asked.key.key}"),
        "bytes that are no text": asked.at_once(usage, authorization="Bearer \xff"),
    }
    before = asked.counted()

    twice = [(b"authorization", f"Bearer {asked.key.key}".encode())] * 2
    left["two keys"] = asked.gate.at_once("GET", usage, twice)
    left["none"] = asked.gate.at_once("GET", usage, [])

    assert [what for what, answer in left.items() if answer is not None] == []
    assert asked.counted() == before == 2  # those of the fixture


async def test_beyond_the_limit_the_refusal_is_left_to_who_waits(asked: Asked) -> None:
    usage, search = asked.paths
    answers = [asked.at_once(usage) for _ in range(CHECKS_PER_MINUTE)]

    assert [answer is not None for answer in answers] == [True] * (CHECKS_PER_MINUTE - 2) + [
        False
    ] * 2
    assert asked.at_once(search) is None
    assert (await asked.waited_for(usage)).status_code == 429


async def test_a_search_that_runs_is_left_to_who_waits(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = asked.service.running.api
    monkeypatch.setattr(api.reading, "at_once", lambda *_: None)

    assert asked.at_once(asked.paths[1]) is None
    assert asked.counted() == 2


async def test_who_leaves_leaves_it_to_who_waits(asked: Asked) -> None:
    asked.service.running.api.draining.set()
    try:
        assert asked.at_once(asked.paths[0]) is None
    finally:
        asked.service.running.api.draining.clear()


async def test_a_secret_that_another_process_took_away_opens_nothing_more(asked: Asked) -> None:
    usage, search = asked.paths
    assert asked.at_once(usage) is not None
    async with open_folder(DataFolder(asked.folder)) as beside:
        await Operator(Streams(beside.log), SystemClock()).rotate_key(asked.key.id)

    assert [asked.at_once(path) for path in asked.paths] == [None, None]
    assert (await asked.waited_for(search)).status_code == 401


async def test_what_another_process_granted_is_in_the_next_answer(asked: Asked) -> None:
    usage, _ = asked.paths
    async with open_folder(DataFolder(asked.folder)) as beside:
        await Operator(Streams(beside.log), SystemClock()).grant_quota(asked.key.id, 7)

    assert asked.at_once(usage) is None  # read first by who may wait
    assert (await asked.waited_for(usage)).json()["quota"] == 107
    again = asked.at_once(usage)
    assert again is not None
    assert b'"quota":107' in bytes(again.body)


async def test_nobody_who_was_erased_by_another_process_is_shown(asked: Asked) -> None:
    search = asked.paths[1]
    before = asked.at_once(search)
    assert before is not None
    assert b"Ada Kern" in bytes(before.body)
    async with open_folder(DataFolder(asked.folder)) as beside:
        reflected = ViewRunner(beside.log, beside.views, beside.keys).catch_up
        erasure = Erasure(Streams(beside.log), beside.keys, SystemClock(), reflected)
        await erasure.erase_profile("https://www.linkedin.com/in/ada-kern")

    after = asked.at_once(search)

    assert after is None or b"Ada Kern" not in bytes(after.body)
    assert b"Ada Kern" not in (await asked.waited_for(search)).content
