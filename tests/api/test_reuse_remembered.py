"""A search answered from reuse reads no stream anew: its append finds out what has changed."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from api.frozen import Frozen, Node
from cs.domain.contact import Query
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.port import NO_STREAM
from cs.operations.operator import NewSecret

ACME = {"brand": "Acme"}


async def prepared(frozen: Frozen) -> tuple[Node, NewSecret]:
    """Start a node, and have it remember a key of which Acme was searched."""
    key = await frozen.new_key()
    await frozen.operator.choose_world("live")
    await frozen.start(1)
    node = frozen.nodes[0]
    first = await node.call(key.key, "POST", "/contacts", json=ACME)
    assert (first.status_code, first.json()["cached"]) == (200, True)
    return node, key


def no_stream_is_read(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(stream: str, *_: Any) -> None:
        raise LogUnavailable(f"{stream} is read")

    monkeypatch.setattr(node.api.streams.log, "read", away)


async def test_what_is_remembered_is_not_read_again(
    shared: Frozen, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, key = await prepared(shared)
    no_stream_is_read(node, monkeypatch)

    again = await node.call(key.key, "POST", "/contacts", json=ACME)

    assert (again.status_code, again.json()["usage"]["used"]) == (200, 2)
    monkeypatch.undo()
    stored = await shared.log.read(f"key-{key.id}", NO_STREAM)
    assert [type(each.event).__name__ for each in stored].count("SearchSettled") == 2


async def test_what_others_changed_meanwhile_is_read_first(shared: Frozen) -> None:
    node, key = await prepared(shared)
    other = shared.operator

    async def post() -> tuple[int, Any, int]:
        answer = await node.call(key.key, "POST", "/contacts", json=ACME)
        told = answer.json()
        code = told["error"]["code"] if "error" in told else told["status"]
        return answer.status_code, code, told.get("usage", {}).get("quota", 0)

    changes: list[tuple[str, Callable[[], Awaitable[object]], tuple[int, str, int]]] = [
        ("nothing", shared.log.head, (200, "done", 100)),
        ("quota of the key", lambda: other.grant_quota(key.id, 7), (200, "done", 107)),
        ("the service pauses", other.pause, (503, "api_disabled", 0)),
        ("it goes on", other.resume, (200, "done", 107)),
        (
            "its brand is forgotten",
            lambda: other.forget_brand(Query("Acme")),
            (202, "running", 107),
        ),
        ("the key is revoked", lambda: other.revoke_key(key.id), (401, "unauthorized", 0)),
    ]
    wrong = []
    for what, change, expected in changes:
        await change()
        found = await post()
        if found != expected:
            wrong.append((what, found, expected))

    assert wrong == []
