"""The owner of a key whose stream is damaged is not told that the key is wrong.

As long as the views know its secret from before the damage.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest

from api.frozen import Frozen, Node, on_postgres, on_sqlite
from cs.domain.api_key import hash_key
from cs.eventlog.streams import Streams
from cs.operations.operator import Operator
from domain.acme_run import AT
from harness.manual_clock import ManualClock
from system.damage.stores import PostgresStores, SqliteStores, Stores


@dataclass
class Form:
    """Where the bytes are, and what serves them."""

    stores: Stores
    serving: Callable[[], AbstractAsyncContextManager[Frozen]]

    async def write(self, do: Callable[[Operator], Awaitable[str]]) -> str:
        """Let *do* write as a process of its own; return the secret that it gives."""
        async with self.stores.log() as log:
            return await do(Operator(Streams(log), ManualClock(AT)))

    async def spoil(self, position: int, spoil: Callable[[bytes], bytes]) -> bytes:
        """Spoil the bytes of an event; return what they were."""
        whole = await self.stores.state(position)
        await self.stores.write(position, spoil(whole))
        return whole


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def form(request: pytest.FixtureRequest, tmp_path: Path) -> Form:
    if request.param == "sqlite":
        return Form(SqliteStores(tmp_path), lambda: on_sqlite(tmp_path))
    dsn = request.getfixturevalue("database")
    return Form(PostgresStores(dsn), lambda: on_postgres(dsn))


async def issues(operator: Operator) -> str:
    return (await operator.create_key("a", 5)).key


def all_lost(_: bytes) -> bytes:
    return b""


async def checked(node: Node, secret: str) -> tuple[int, str]:
    answer = await node.call(secret, "GET", "/usage")
    error = answer.json().get("error", {"message": ""})
    return answer.status_code, error["message"]


async def test_what_the_views_show_from_before_the_damage_tells_it_too(form: Form) -> None:
    hurt = await form.write(issues)

    async with form.serving() as frozen:
        await frozen.start(1)
        whole = await form.spoil(1, all_lost)
        (node,) = frozen.nodes
        key_id = node.api.keys.known(hash_key(hurt))
        node.api.streams.drop(f"key-{key_id}")
        node.api.keys.forget(hash_key(hurt))

        assert (await checked(node, hurt))[0] == 500
        await form.stores.write(1, whole)
        assert (await checked(node, hurt))[0] == 200
