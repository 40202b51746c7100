"""Keys are found when they are needed, and turned away once the log has said so."""

import asyncio
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

import pytest

from api.frozen import Frozen
from cs.api.errors import ApiError
from cs.api.keys import Caller, Keys
from cs.domain.api_key import hash_key, make_key
from cs.domain.key import KeyIssued, KeyRevoked, KeyRotated
from cs.eventlog.port import RecordedEvent
from cs.eventlog.streams import Streams
from domain.acme_run import AT
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog


class Secrets:
    """What can be looked up, and what was."""

    def __init__(self, **key_of: str) -> None:
        self.key_of = key_of
        self.asked: list[set[str]] = []

    async def shown(self, secrets: AbstractSet[str]) -> Mapping[str, str]:
        del secrets
        return {}

    async def look_up(self, secrets: AbstractSet[str]) -> Mapping[str, str]:
        self.asked.append(set(secrets))
        return {secret: self.key_of[secret] for secret in secrets & self.key_of.keys()}


def ring_of(keys: Secrets) -> Keys:
    return Keys(Streams(MemoryEventLog(MemoryKeyStore())), keys.shown, keys.look_up)


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
