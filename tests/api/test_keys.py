"""Keys are found when they are needed: in memory, or all that are asked for in one look-up."""

import asyncio
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

import pytest

from api.frozen import Frozen
from cs.api import keys as api_keys
from cs.api.errors import ApiError
from cs.api.keys import Caller
from cs.domain.api_key import hash_key, make_key
from cs.domain.key import KeyIssued, KeyRevoked, KeyRotated
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.port import RecordedEvent
from cs.eventlog.streams import Streams
from domain.acme_run import AT
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog


class Secrets:
    """What can be looked up, and what was."""

    def __init__(self, **key_of: str) -> None:
        self.key_of = key_of
        self.in_views: dict[str, str] = {}
        self.asked: list[set[str]] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.away = False

    async def shown(self, secrets: AbstractSet[str]) -> Mapping[str, str]:
        return {secret: self.in_views[secret] for secret in secrets & self.in_views.keys()}

    async def look_up(self, secrets: AbstractSet[str]) -> Mapping[str, str]:
        self.asked.append(set(secrets))
        answer = {secret: self.key_of[secret] for secret in secrets & self.key_of.keys()}
        await self.may_answer.wait()
        if self.away:
            raise LogUnavailable("away")
        return answer


def ring_of(keys: Secrets, **named: int) -> api_keys.Keys:
    return api_keys.Keys(
        Streams(MemoryEventLog(MemoryKeyStore())), keys.shown, keys.look_up, **named
    )


async def started(*calls: "asyncio.Task[str | None]") -> None:
    await asyncio.wait(calls, timeout=0.02)


def issued(key_id: str, secret: str, position: int = 1) -> RecordedEvent:
    event = KeyIssued(label="", quota=1, secret_hash=secret, last4="", at=AT)
    return RecordedEvent(position, f"key-{key_id}", 0, event)


async def test_a_key_is_looked_up_once_and_then_remembered() -> None:
    keys = Secrets(s1="key_1")
    ring = ring_of(keys)

    assert ring.known("s1") is None
    assert await ring.find("s1") == "key_1"
    assert (ring.known("s1"), await ring.find("s1")) == ("key_1", "key_1")
    assert keys.asked == [{"s1"}]


async def test_wrong_secrets_that_wait_take_no_place_of_what_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(api_keys, "WAITING", 2)
    keys = Secrets()
    keys.in_views = {"good": "key_1"}
    ring = ring_of(keys)
    keys.may_answer.clear()
    wrong = []
    for n in range(2):
        wrong.append(asyncio.create_task(ring.find(f"s{n}")))
        await started(wrong[-1])

    async with asyncio.timeout(5):
        assert await ring.find("good") == "key_1"
    with pytest.raises(LogUnavailable):
        await ring.find("s9")
    keys.may_answer.set()
    async with asyncio.timeout(5):
        assert await asyncio.gather(*wrong) == [None, None]


async def test_who_gives_up_or_fails_leaves_the_next_to_look_up() -> None:
    keys = Secrets(s1="key_1", s2="key_2")
    ring = ring_of(keys)
    keys.may_answer.clear()
    gives_up = asyncio.create_task(ring.find("s1"))
    await started(gives_up)
    waits = [asyncio.create_task(ring.find(secret)) for secret in ["s1", "s2"]]
    await started(*waits)
    gives_up.cancel()
    await started(gives_up)
    keys.away = True
    keys.may_answer.set()
    async with asyncio.timeout(5):
        failed = await asyncio.gather(*waits, return_exceptions=True)
    keys.away = False

    assert [type(each) for each in failed] == [LogUnavailable, LogUnavailable]
    assert (await ring.find("s1"), await ring.find("s2")) == ("key_1", "key_2")


async def test_so_many_are_remembered_those_used_last() -> None:
    keys = Secrets(**{f"s{n}": f"key_{n}" for n in range(5)})
    ring = ring_of(keys, max_keys=3)
    for n in range(3):
        await ring.find(f"s{n}")
    assert ring.known("s0") == "key_0"
    await ring.find("s3")

    assert [ring.known(f"s{n}") for n in range(4)] == ["key_0", None, "key_2", "key_3"]
    assert len(ring) == 3
    assert await ring.find("s1") == "key_1"


async def test_what_the_log_tells_of_secrets_counts_at_once() -> None:
    ring = ring_of(Secrets())
    rotated = RecordedEvent(3, "key-key_1", 1, KeyRotated(secret_hash="s2", last4="", at=AT))
    ring.on_events([issued("key_1", "s1"), issued("key_3", "s3", 2)])
    assert (ring.known("s1"), ring.known("s3")) == ("key_1", "key_3")
    ring.on_events([rotated, RecordedEvent(4, "key-key_3", 1, KeyRevoked(at=AT))])

    assert [ring.known(f"s{n}") for n in (1, 2, 3)] == [None, "key_1", None]


async def test_events_that_come_again_turn_no_newer_secret_away() -> None:
    ring = ring_of(Secrets())
    rotations = [
        RecordedEvent(n, "key-key_1", n, KeyRotated(secret_hash=f"s{n}", last4="", at=AT))
        for n in (2, 3)
    ]
    ring.on_events([issued("key_1", "s1"), *rotations])
    ring.on_events(rotations[:1])

    ring.require_not_shut(Caller("key_1", "s3"))
    assert ring.known("s3") == "key_1"
    for old in ("s1", "s2"):
        with pytest.raises(ApiError):
            ring.require_not_shut(Caller("key_1", old))


# On a log that nobody follows.


async def new_ones_work(frozen: Frozen, nodes: int) -> None:
    before, gone = await frozen.new_key(), await frozen.new_key()
    await frozen.operator.revoke_key(gone.id)
    await frozen.start(nodes)
    created = await frozen.new_key()
    rotated = await frozen.operator.rotate_key(before.id)
    wrong = make_key(b"nobody" * 4)
    for node in frozen.nodes:
        ring = node.api.keys
        assert len(ring) == 1, "warm with what can be used"
        for secret, status in [
            (created.key, 200),
            (rotated.key, 200),
            (before.key, 401),
            (gone.key, 401),
            (wrong, 401),
        ]:
            async with asyncio.timeout(20):
                answer = await node.call(secret, "GET", "/usage")
            assert answer.status_code == status, secret
        assert ring.known(hash_key(before.key)) is None
        assert ring.known(hash_key(rotated.key)) == before.id


@pytest.mark.slow
async def test_a_new_key_and_a_new_secret_work_at_once(embedded: Frozen) -> None:
    await new_ones_work(embedded, 1)


async def test_a_new_key_and_a_new_secret_work_at_once_on_every_node(shared: Frozen) -> None:
    await new_ones_work(shared, 2)
