"""New secrets work at once; a rotated or revoked one opens nothing from then on, on any node.

A node may not have heard of it yet: its memory of the key is put back before each call.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from api.away import Fragile, fragile
from cs.domain.api_key import hash_key, make_key
from cs.domain.codec import AnyEvent
from cs.domain.key import KeyIssued, KeyRotated
from cs.eventlog.port import RecordedEvent
from cs.eventlog.streams import Streams
from cs.operations.operator import Operator
from domain.acme_run import AT
from harness.manual_clock import ManualClock
from harness.outside import ACME as ACME_FACTS
from harness.outside import ADA, SlowStaff, slow_tools
from harness.places import migrated_database, open_database

ONCE = {"Idempotency-Key": "once"}
ACME = {"brand": "Acme"}
BRANDS = {n.lower(): replace(ACME_FACTS, name=n) for n in ("Acme", "Zenith", "Zephyr")}

#: Every way to call: name, method, path, and what is sent.
CALLS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("a new search", "POST", "/contacts", {"json": {"brand": "Kronos"}}),
    ("a new one, held", "POST", "/contacts", {"json": {"brand": "Kronos", "wait": True}}),
    ("a reused one", "POST", "/contacts", {"json": ACME}),
    ("a joined one", "POST", "/contacts", {"json": {"brand": "Zenith"}}),
    ("its own one again", "POST", "/contacts", {"json": {"brand": "Zephyr"}}),
    ("an idempotent one again", "POST", "/contacts", {"json": ACME, "headers": ONCE}),
    (
        "the same with another body",
        "POST",
        "/contacts",
        {"json": {"brand": "Oth"}, "headers": ONCE},
    ),
    ("no body", "POST", "/contacts", {}),
    ("no JSON", "POST", "/contacts", {"content": b"{", "headers": {"Content-Type": "x/y"}}),
    ("a search", "GET", "/searches/{search}", {}),
    ("a running search", "GET", "/searches/{running}", {}),
    ("no search", "GET", "/searches/srch_none", {}),
    ("HEAD of a search", "HEAD", "/searches/{search}", {}),
    ("usage", "GET", "/usage", {}),
    ("HEAD of usage", "HEAD", "/usage", {}),
    ("an unknown path", "GET", "/nothing", {}),
    ("an encoded slash", "GET", "/searches%2Fx", {}),
    ("a trailing slash", "POST", "/contacts/", {"json": ACME}),
    ("a wrong method", "DELETE", "/usage", {}),
    ("a wrong method on searches", "PUT", "/searches/{search}", {}),
    ("OPTIONS", "OPTIONS", "/contacts", {}),
    ("a wrong method on the description", "POST", "/openapi.json", {}),
]


@pytest.fixture
async def staff() -> SlowStaff:
    staff = SlowStaff((ADA,))
    staff.let.set()
    return staff


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.slow)])
async def node(request: pytest.FixtureRequest, staff: SlowStaff) -> AsyncIterator[Fragile]:
    """A service; on PostgreSQL, the operator writes through another connection."""
    async with AsyncExitStack() as stack:
        database = None
        if request.param == "postgres":
            server = request.getfixturevalue("postgres")
            dsn = await stack.enter_async_context(migrated_database(server))
            database = await stack.enter_async_context(open_database(dsn))
        opened = fragile(slow_tools(staff, BRANDS), quota=100, database=database)
        yield await stack.enter_async_context(opened)
        staff.let.set()


def is_turned_away(answer: httpx.Response) -> bool:
    head = answer.request.method == "HEAD"
    code = "unauthorized" if head else answer.json()["error"]["code"]
    challenge = answer.headers.get("WWW-Authenticate")
    return (answer.status_code, code, challenge) == (
        401,
        "unauthorized",
        'Bearer error="invalid_token"',
    )


#: How a secret ends.
HOW = ["rotated", "revoked", "its overlap is over", "revoked in its overlap"]


async def end(node: Fragile, key: Any, how: str) -> None:
    """Rotate or revoke *key*, in another process."""
    if how == "its overlap is over":
        two_hours_ago = ManualClock(datetime.now(UTC) - timedelta(hours=2))
        streams = Streams(node.other_log)
        await Operator(streams, two_hours_ago).rotate_key(key.id, timedelta(hours=1))
    elif how != "revoked":
        in_overlap = how == "revoked in its overlap"
        await node.elsewhere.rotate_key(key.id, timedelta(hours=in_overlap))
    if how.startswith("revoked"):
        assert await node.elsewhere.revoke_key(key.id)


@pytest.mark.parametrize("how", HOW)
async def test_every_route_turns_an_old_secret_away(
    node: Fragile, staff: SlowStaff, how: str
) -> None:
    key, other = node.key, await node.new_key()
    done = await node.call("POST", "/contacts", json=ACME | {"wait": True}, headers=ONCE)
    staff.let.clear()
    staff.asked.clear()
    running = await node.call("POST", "/contacts", json={"brand": "Zephyr"})
    joined = await node.call("POST", "/contacts", secret=other.key, json={"brand": "Zenith"})
    assert (done.status_code, running.status_code, joined.status_code) == (200, 202, 202)
    ids = {"search": done.json()["id"], "running": running.json()["id"]}
    await staff.asked.wait()
    await end(node, key, how)
    stored = len(await node.log.read(f"key-{key.id}"))

    let_in = {}
    for name, method, path, sent in CALLS:
        node.believe(key)
        answer = await node.call(method, path.format(**ids), **dict(sent))
        if not is_turned_away(answer):
            let_in[name] = answer.status_code

    assert let_in == {}
    assert len(await node.log.read(f"key-{key.id}")) == stored


@pytest.mark.parametrize("how", HOW)
async def test_a_held_call_is_turned_away_when_it_is_released(
    node: Fragile, staff: SlowStaff, how: str
) -> None:
    staff.let.clear()
    held = asyncio.create_task(node.call("POST", "/contacts", json=ACME | {"wait": True}))
    await staff.asked.wait()
    await end(node, node.key, how)
    node.believe(node.key)
    staff.let.set()

    assert is_turned_away(await held)


async def test_a_call_that_finds_the_line_full_goes_by_what_was_last_read(
    node: Fragile,
) -> None:
    await end(node, node.key, "rotated")
    node.believe(node.key)
    assert is_turned_away(await node.call("GET", "/usage"))
    node.fill_the_line()

    for method, path in [("GET", "/usage"), ("GET", "/nothing"), ("POST", "/contacts")]:
        node.running.api.keys.remember(node.key.id, hash_key(node.key.key))
        assert is_turned_away(await node.call(method, path, json=ACME))


async def test_with_the_line_full_an_overlap_ends_all_the_same(node: Fragile) -> None:
    await node.elsewhere.rotate_key(node.key.id, timedelta(days=1))
    assert (await node.call("GET", "/usage")).status_code == 200
    node.running.api.keys._now = lambda: datetime.now(UTC) + timedelta(days=2)
    node.fill_the_line()

    for method, path in [("GET", "/usage"), ("GET", "/nothing"), ("POST", "/contacts")]:
        node.running.api.keys.remember(node.key.id, hash_key(node.key.key))
        assert is_turned_away(await node.call(method, path, json=ACME))


async def test_an_old_secret_costs_its_key_no_check(node: Fragile) -> None:
    new = await node.elsewhere.rotate_key(node.key.id)
    for _ in range(3):
        node.believe(node.key)
        assert is_turned_away(await node.call("GET", "/usage"))

    answer = await node.call("GET", "/usage", secret=new.key)

    assert 'checks";r=119' in answer.headers["RateLimit"]


async def test_in_an_overlap_both_secrets_work_and_count_on_one_key(node: Fragile) -> None:
    keys, old, a_day = node.running.api.keys, node.key.key, timedelta(days=1)
    new = (await node.elsewhere.rotate_key(node.key.id, a_day)).key
    seen = {"at once": await statuses(node, old, new)}
    await node.running.views.reached(await node.log.head())
    seen["known to the views"] = await statuses(node, old, new)
    for secret in (old, new):  # as a process that has just started
        keys.forget(hash_key(secret))
        seen[f"forgotten {secret == old}"] = await statuses(node, secret)
    searched = [
        await node.call("POST", "/contacts", secret=secret, json=ACME | {"wait": True})
        for secret in (old, new)
    ]
    usage = (await node.call("GET", "/usage", secret=new)).json()

    assert {status for found in seen.values() for status in found} == {200}, seen
    assert 'minute";r=4' in searched[1].headers["RateLimit"]
    assert usage["used"] == 2

    newest = (await node.elsewhere.rotate_key(node.key.id, a_day)).key
    assert await statuses(node, old, new, newest) == [401, 200, 200]
    last = (await node.elsewhere.rotate_key(node.key.id)).key
    assert await statuses(node, old, new, newest, last) == [401, 401, 401, 200]


async def statuses(node: Fragile, *secrets: str) -> list[int]:
    return [(await node.call("GET", "/usage", secret=secret)).status_code for secret in secrets]


@pytest.mark.parametrize("overlaps_h", [(0,), (1, 1), (1, 0)])
async def test_a_secret_that_is_found_before_its_event_comes_works_on(
    node: Fragile, overlaps_h: tuple[int, ...]
) -> None:
    ring, stream = node.running.api.keys, f"key-{node.key.id}"
    new = node.key
    for hours in overlaps_h:
        new = await node.elsewhere.rotate_key(node.key.id, timedelta(hours=hours))
    await node.running.views.reached(await node.log.head())
    for secret in [*ring._key_of]:  # as a process that has just started
        ring.forget(secret)
    ring._position = 0
    assert await statuses(node, new.key) == [200]

    ring.on_events(await node.log.read(stream))
    node.fill_the_line()

    assert await statuses(node, new.key) == [429]
    assert is_turned_away(await node.call("GET", "/usage", secret=node.key.key))


async def test_an_overlap_is_over_by_the_key_s_own_time_too(node: Fragile) -> None:
    """The clock of a node may be behind, or be ahead and put right later."""
    now = datetime.now(UTC)
    for at, do in (
        (now - timedelta(hours=1), "rotate"),
        (now + timedelta(seconds=10), "grant"),
    ):
        operator = Operator(Streams(node.other_log), ManualClock(at))
        if do == "rotate":
            await operator.rotate_key(node.key.id, timedelta(hours=1))
        else:
            await operator.grant_quota(node.key.id, 1)
    node.running.api.keys._now = lambda: now - timedelta(seconds=20)
    assert await statuses(node, node.key.key) == [401]

    other = await node.new_key()
    await node.elsewhere.rotate_key(other.id, timedelta(days=1))
    node.running.api.keys._now = lambda: datetime.now(UTC) + timedelta(days=2)
    assert await statuses(node, other.key) == [401]
    node.running.api.keys._now = lambda: datetime.now(UTC)
    assert await statuses(node, other.key) == [200]


async def test_events_that_come_again_turn_no_newer_secret_away(node: Fragile) -> None:
    ring = node.running.api.keys
    head = await node.log.head()
    issued = KeyIssued(label="", quota=1, secret_hash="s1", last4="", at=AT)
    rotations = [KeyRotated(secret_hash=f"s{n}", last4="", at=AT) for n in (2, 3)]
    events: list[AnyEvent] = [issued, *rotations]
    recorded = [
        RecordedEvent(head + n, "key-key_1", n, event) for n, event in enumerate(events, 1)
    ]

    ring.on_events(recorded)
    ring.on_events(recorded[1:2])

    assert [ring.known(secret) for secret in ("s1", "s2", "s3")] == [None, None, "key_1"]


async def test_a_new_key_and_a_new_secret_work_at_once(node: Fragile) -> None:
    operator = node.elsewhere
    created, gone = await operator.create_key("new", 9), await operator.create_key("gone", 9)
    await operator.revoke_key(gone.id)
    rotated = await operator.rotate_key(node.key.id)
    await operator.grant_quota(node.key.id, 4)

    for secret, status in [
        (created.key, 200),
        (rotated.key, 200),
        (node.key.key, 401),
        (gone.key, 401),
        (make_key(b"nobody" * 4), 401),
    ]:
        answer = await node.call("GET", "/usage", secret=secret)
        assert answer.status_code == status, secret
        if secret == rotated.key:
            assert answer.json()["quota"] == 104
