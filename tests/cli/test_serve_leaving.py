"""`cs serve` with many held calls, told to leave."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from cli.leaving import left_while_holding
from harness.api_keys import new_keys
from harness.served import served

pytestmark = pytest.mark.slow

RUNNING = {"id", "status", "brand", "poll_url", "retry_after", "usage"}
CALLS = 400


def test_it_answers_every_held_call_and_ends_in_two_seconds(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with served(folder) as service:
        keys = asyncio.run(new_keys(folder, CALLS // 2))
        left = asyncio.run(left_while_holding(service, keys))

    assert Counter(answer.status for answer in left.answers) == {202: CALLS}
    bodies = [answer.body for answer in left.answers]
    assert {frozenset(body) for body in bodies} == {frozenset(RUNNING)}
    assert {body["status"] for body in bodies} == {"running"}
    assert len({body["id"] for body in bodies}) == CALLS
    assert all(b"\r\nconnection: close\r\n" in answer.raw for answer in left.answers)
    assert (left.code, "Traceback" in service.output) == (0, False)
    assert left.ended_s < 2
