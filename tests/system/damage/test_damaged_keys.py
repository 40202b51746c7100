"""The owner of a key whose stream is damaged is not told that the key is wrong.

As long as anything that is stored tells whose it is: the views, what can be read behind the
damage, or the damaged bytes themselves.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest

from api.frozen import Frozen, Node, on_postgres, on_sqlite
from cs.domain.api_key import hash_key, make_key
from cs.eventlog.streams import Streams
from cs.operations.operator import Operator
from cs.projections import damaged_keys
from cs.runtime.clock import ManualClock
from domain.acme_run import AT
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


async def issues_and_rotates(operator: Operator) -> str:
    return (await operator.rotate_key((await operator.create_key("a", 5)).id)).key


def label_lost(state: bytes) -> bytes:
    return state.replace(b'"label":"a"', b'"label":"\xff"')


def all_lost(_: bytes) -> bytes:
    return b""


def quota_stored_as_text(state: bytes) -> bytes:
    return state.replace(b'"quota":5', b'"quota":"5"')


async def checked(node: Node, secret: str) -> tuple[int, str]:
    answer = await node.call(secret, "GET", "/usage")
    error = answer.json().get("error", {"message": ""})
    return answer.status_code, error["message"]


@pytest.mark.parametrize(
    ("write", "position", "spoil"),
    [
        (issues, 1, label_lost),
        (issues, 1, quota_stored_as_text),
        (issues_and_rotates, 1, all_lost),
        (issues_and_rotates, 2, lambda state: state[:-4] + b"\x00\x00\x00}"),
    ],
    ids=["issued", "issued-as-another-shape", "issued-before-it-was-rotated", "rotated"],
)
async def test_its_owner_hears_that_it_is_damaged_and_others_that_theirs_is_wrong(
    form: Form,
    write: Callable[[Operator], Awaitable[str]],
    position: int,
    spoil: Callable[[bytes], bytes],
) -> None:
    hurt = await form.write(write)
    other = await form.write(issues)
    whole = await form.spoil(position, spoil)

    async with form.serving() as frozen:
        await frozen.start(1)
        (node,) = frozen.nodes

        status, message = await checked(node, hurt)
        assert (status, "is damaged; nothing was charged" in message) == (500, True)
        assert node.api.streams.set_aside.why is not None, "with an alarm"
        assert (await checked(node, make_key(b"nobody" * 4)))[0] == 401
        assert (await checked(node, other))[0] == 200

        await form.stores.write(position, whole)
        assert (await checked(node, hurt))[0] == 200


async def test_of_a_secret_that_is_stored_nowhere_any_more_nobody_can_tell(form: Form) -> None:
    hurt = await form.write(issues)
    await form.spoil(1, all_lost)

    async with form.serving() as frozen:
        await frozen.start(1)

        assert (await checked(frozen.nodes[0], hurt))[0] == 401


async def test_what_the_views_show_from_before_the_damage_tells_it_too(form: Form) -> None:
    hurt = await form.write(issues)

    async with form.serving() as frozen:
        await frozen.start(1)
        whole = await form.spoil(1, all_lost)
        (node,) = frozen.nodes
        node.api.key_ring.forget(hash_key(hurt))

        assert (await checked(node, hurt))[0] == 500
        await form.stores.write(1, whole)
        assert (await checked(node, hurt))[0] == 200


async def test_a_bounded_part_of_a_damaged_key_is_read(
    form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(damaged_keys, "EVENTS", 3)

    async def grants_and_rotates(operator: Operator) -> str:
        made = await operator.create_key("a", 5)
        for _ in range(9):
            await operator.grant_quota(made.id, 1)
        return (await operator.rotate_key(made.id)).key

    hurt = await form.write(grants_and_rotates)
    await form.spoil(1, all_lost)

    async with form.serving() as frozen:
        await frozen.start(1)

        assert (await checked(frozen.nodes[0], hurt))[0] == 401
