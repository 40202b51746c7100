"""Checks whose answers need a database: one question for all of it, and the same answers."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from api.frozen import Frozen, Node
from cs.api.answers import JsonResponse
from cs.checks.port import CHECKS_PER_MINUTE
from cs.operations.operator import NewSecret
from cs.postgres.pool import Pool

#: What differs between two answers to the same question.
OF_ONE_ANSWER = frozenset({"x-request-id", "ratelimit", "ratelimit-reset"})


class Asked:
    """A node that has answered a key's search before."""

    def __init__(self, node: Node, key: NewSecret, search: str) -> None:
        self.node, self.key = node, key
        self.paths = ("/usage", f"/searches/{search}")

    async def soon(self, path: str, method: str = "GET") -> tuple[JsonResponse | None, Any]:
        """Return the answer of who has no task and the state it leaves; False: not asked."""
        answer: asyncio.Future[tuple[JsonResponse | None, Any]] = asyncio.Future()
        headers = [(b"authorization", f"Bearer {self.key.key}".encode())]

        def answered(found: JsonResponse | None, state: dict[str, Any]) -> None:
            answer.set_result((found, state))

        if not self.node.gate.soon(method, f"/v1{path}", headers, answered):
            return None, False
        return await answer

    async def then_wait(self, path: str, state: Any) -> tuple[int, bytes]:
        """Return status and body of who waits after `soon` has left *state*."""
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        headers = [(b"authorization", f"Bearer {self.key.key}".encode())]
        scope = {"type": "http", "method": "GET", "path": f"/v1{path}", "headers": headers}
        await self.node.gate({**scope, "state": dict(state)}, receive, send)
        return sent[0]["status"], sent[1]["body"]

    async def counted(self) -> int:
        checks: Any = self.node.api.checks
        pool: Pool = checks._pool
        found = await pool.fetchval(
            "SELECT cardinality(times) FROM checks WHERE key_id = $1", self.key.id
        )
        return found or 0


@pytest.fixture
async def asked(shared: Frozen) -> Asked:
    key = await shared.new_key()
    await shared.operator.choose_world("live")
    await shared.start(1)
    node = shared.nodes[0]
    search = (await node.call(key.key, "POST", "/contacts", json={"brand": "Acme"})).json()
    assert search["status"] == "done"
    asked = Asked(node, key, search["id"])
    for path in asked.paths:  # from here on its data keys are in memory
        assert (await node.call(key.key, "GET", path)).status_code == 200
    return asked


def shown(headers: Any) -> Mapping[str, str]:
    return {name: value for name, value in headers if name not in OF_ONE_ANSWER}


async def test_the_answer_is_that_of_who_waits_and_counts_once(asked: Asked) -> None:
    wrong: list[tuple[str, object]] = []
    for number, path in enumerate(asked.paths):
        before = await asked.counted()
        waited = await asked.node.call(asked.key.key, "GET", path)
        answer, _ = await asked.soon(path)
        assert answer is not None, path
        named = [(name.decode(), value.decode()) for name, value in answer.raw_headers]
        if (answer.status_code, bytes(answer.body)) != (200, waited.content):
            wrong.append((path, answer.body))
        if shown(named) != shown(waited.headers.items()):
            wrong.append((path, named))
        left = CHECKS_PER_MINUTE - 2 * number - 4
        if f'"checks";r={left};' not in dict(named)["ratelimit"]:
            wrong.append((path, dict(named)["ratelimit"]))
        if await asked.counted() != before + 2:
            wrong.append((path, f"counted {await asked.counted() - before} times"))

    assert wrong == []


async def test_what_has_more_to_wait_for_is_left_to_who_waits(
    asked: Asked, shared: Frozen
) -> None:
    usage, search = asked.paths
    other = Asked(asked.node, await shared.new_key(), "srch_" + 26 * "0")
    not_asked = [
        await asked.soon(path, method)
        for path, method in [(usage, "HEAD"), ("/nothing", "GET"), (f"{search}/x", "GET")]
    ]
    not_asked += [await other.soon(path) for path in other.paths]
    assert not_asked == [(None, False)] * 5
    assert await asked.counted() == 2

    await shared.operator.grant_quota(asked.key.id, 7)
    answer, state = await asked.soon(usage)

    assert (answer, state["check"].counted) == (None, True)
    assert await asked.counted() == 3
    found = await asked.node.call(asked.key.key, "GET", usage)
    assert found.json()["quota"] == 107
    again, _ = await asked.soon(usage)
    assert again is not None
    assert b'"quota":107' in bytes(again.body)


async def test_a_check_that_was_counted_is_not_counted_again(
    asked: Asked, shared: Frozen
) -> None:
    await shared.operator.grant_quota(asked.key.id, 7)
    _, state = await asked.soon("/usage")

    status, body = await asked.then_wait("/usage", state)
    assert (status, b'"quota":107' in body) == (200, True)
    assert await asked.counted() == 3


@pytest.mark.parametrize("how", ["rotated", "revoked"])
async def test_a_secret_that_was_taken_away_opens_nothing_more(
    asked: Asked, shared: Frozen, how: str
) -> None:
    change = shared.operator.rotate_key if how == "rotated" else shared.operator.revoke_key
    await change(asked.key.id)

    assert [(await asked.soon(path))[0] for path in asked.paths] == [None, None]


async def test_beyond_the_limit_nothing_is_answered(asked: Asked) -> None:
    answers = [(await asked.soon("/usage"))[0] for _ in range(CHECKS_PER_MINUTE - 2)]
    refused, state = await asked.soon("/usage")

    assert (None in answers, refused, state["check"].counted) == (False, None, False)
    status, _ = await asked.then_wait("/usage", state)
    assert status == 429
    assert await asked.soon("/usage") == (None, False)  # the refusal is remembered
    assert (await asked.node.call(asked.key.key, "GET", "/usage")).status_code == 429


async def test_while_the_database_is_away_who_waits_says_so(asked: Asked) -> None:
    pool: Pool = asked.node.api.check_reads._pool  # type: ignore[union-attr]
    await pool.execute("ALTER TABLE checks RENAME TO checks_away")
    first, state = await asked.soon("/usage")
    then = await asked.soon("/usage")
    await pool.execute("ALTER TABLE checks_away RENAME TO checks")

    assert (first, state) == (None, {})  # whether it was counted is not known
    assert then == (None, False)  # for a while nobody tries
