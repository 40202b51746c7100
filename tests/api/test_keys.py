"""Keys are found when they are needed: in memory, or all that are asked for in one look-up."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from collections.abc import Set as AbstractSet

import pytest

from api.frozen import Frozen
from cs.api import keys as api_keys
from cs.api.errors import ApiError
from cs.api.keys import READ_THROUGH_PER_S, Caller
from cs.domain.api_key import hash_key, make_key
from cs.domain.key import KeyIssued, KeyRevoked, KeyRotated
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.port import RecordedEvent
from cs.eventlog.streams import Streams
from cs.projections import key_secrets
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


async def test_a_secret_that_opens_nothing_is_looked_up_again() -> None:
    keys = Secrets()
    ring = ring_of(keys)
    assert await ring.find("s1") is None
    keys.key_of["s1"] = "key_1"

    assert await ring.find("s1") == "key_1"


async def test_who_comes_during_a_look_up_is_part_of_the_next_with_all_others() -> None:
    """A look-up that began before a key was made says nothing about it."""
    keys = Secrets()
    ring = ring_of(keys)
    keys.may_answer.clear()
    first = asyncio.create_task(ring.find("s1"))
    await started(first)
    keys.key_of |= {"s1": "key_1"}
    later = [asyncio.create_task(ring.find(f"s{n}")) for n in [1, 2, 3, 1, 2]]
    async with asyncio.timeout(5):
        while ring._looked_up._waiting < 6:
            await started(*later)
    keys.may_answer.set()

    async with asyncio.timeout(5):
        assert await asyncio.gather(*later) == ["key_1", None, None, "key_1", None]
    assert await first is None
    assert keys.asked == [{"s1"}, {"s1", "s2", "s3"}]


@pytest.mark.slow
async def test_a_flood_of_wrong_secrets_is_a_few_look_ups_and_turns_no_good_one_away() -> None:
    keys = Secrets(good="key_1")
    ring = ring_of(keys)
    began = asyncio.get_running_loop().time()

    async def caller(number: int) -> None:
        for n in range(5):
            assert await ring.find(f"wrong {number} {n}") is None

    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        for number in range(200):
            tasks.create_task(caller(number))
        await asyncio.wait([asyncio.create_task(caller(-1))], timeout=0.01)
        assert await ring.find("good") == "key_1"

    took_s = asyncio.get_running_loop().time() - began
    assert len(keys.asked) <= took_s * READ_THROUGH_PER_S + 1
    assert sum(map(len, keys.asked)) == 1 + 5 * 201


async def test_good_secrets_do_not_wait_for_each_other() -> None:
    keys = Secrets()
    keys.in_views = {f"s{n}": f"key_{n}" for n in range(100)}
    ring = ring_of(keys)
    began = asyncio.get_running_loop().time()

    for n in range(100):
        assert await ring.find(f"s{n}") == f"key_{n}"

    assert asyncio.get_running_loop().time() - began < 100 / READ_THROUGH_PER_S / 2


async def test_what_is_shown_waits_for_no_wrong_secret_that_is_looked_up() -> None:
    keys = Secrets()
    keys.in_views = {"s1": "key_1", "s2": "key_2"}
    ring = ring_of(keys)
    keys.may_answer.clear()
    keys.away = True
    wrong = [asyncio.create_task(ring.find("wrong")), asyncio.create_task(ring.find("bad"))]

    async with asyncio.timeout(5):
        both = asyncio.gather(*(ring.find(secret) for secret in ["s1", "s2"]))
        assert await both == ["key_1", "key_2"]

    assert not any(each.done() for each in wrong)
    keys.may_answer.set()
    async with asyncio.timeout(5):
        failed = await asyncio.gather(*wrong, return_exceptions=True)
    assert [type(each) for each in failed] == [LogUnavailable, LogUnavailable]
    assert all("s1" not in asked for asked in keys.asked)


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


async def test_more_than_so_many_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_keys, "WAITING", 2)
    keys = Secrets(s1="key_1")
    ring = ring_of(keys)
    keys.may_answer.clear()
    waiting = [asyncio.create_task(ring.find(f"s{n}")) for n in range(2)]
    await started(*waiting)

    with pytest.raises(LogUnavailable):
        await ring.find("s9")
    keys.may_answer.set()
    async with asyncio.timeout(5):
        assert await asyncio.gather(*waiting) == [None, "key_1"]
        assert await ring.find("s9") is None


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


async def test_the_warm_up_takes_no_more_than_are_kept() -> None:
    read: list[int] = []

    async def pages() -> AsyncGenerator[Sequence[tuple[str, str]], None]:
        for n in range(0, 100, 2):
            read.append(n)
            yield [(f"key_{n}", f"s{n}"), (f"key_{n + 1}", f"s{n + 1}")]

    ring = ring_of(Secrets(), max_keys=5)
    await ring.warm(pages())

    assert len(ring) == 5
    assert (ring.known("s4"), ring.known("s5")) == ("key_4", None)
    assert read == [0, 2, 4]


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


async def good_beside_wrong(frozen: Frozen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_secrets, "PATIENCE_S", 0.5)
    monkeypatch.setattr(key_secrets, "AHEAD", 1)
    good = await frozen.new_key()
    await frozen.start(1)
    for _ in range(3):
        await frozen.operator.grant_quota(good.id, 1)
    (node,) = frozen.nodes
    node.api.keys.forget(hash_key(good.key))
    wrong = [make_key(b"nobody%d" % n * 4) for n in range(2)]

    async with asyncio.timeout(20):
        calls = [node.call(secret, "GET", "/usage") for secret in [*wrong, good.key]]
        *refused, answer = await asyncio.gather(*calls)

    assert answer.json() == {"quota": 103, "used": 0, "remaining": 103}
    for each in refused:
        assert (each.status_code, each.headers["retry-after"]) == (500, "5")
        assert each.json()["error"]["code"] == "server_error"


@pytest.mark.slow
async def test_a_good_key_is_answered_beside_a_wrong_one_while_the_views_are_far_behind(
    embedded: Frozen, monkeypatch: pytest.MonkeyPatch
) -> None:
    await good_beside_wrong(embedded, monkeypatch)


async def test_a_good_key_is_answered_beside_a_wrong_one_on_a_node_too(
    shared: Frozen, monkeypatch: pytest.MonkeyPatch
) -> None:
    await good_beside_wrong(shared, monkeypatch)
