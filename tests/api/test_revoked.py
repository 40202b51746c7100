"""New secrets work at once; a rotated or revoked one opens nothing from then on, on any node.

The nodes here do not follow the log: what they hear of keys stands still.
"""

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest

from api.frozen import Frozen, Node
from cs.domain.api_key import hash_key, make_key
from cs.domain.codec import AnyEvent
from cs.domain.key import KeyIssued, KeyRotated
from cs.eventlog.port import RecordedEvent
from domain.acme_run import AT

ONCE = {"Idempotency-Key": "once"}
ACME = {"brand": "Acme"}

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


async def prepared(frozen: Frozen, nodes: int) -> tuple[Any, dict[str, str]]:
    """Start *nodes*; return a key they know and the ids of its searches."""
    key, other = await frozen.new_key(), await frozen.new_key()
    await frozen.start(nodes)
    node = frozen.nodes[0]
    done = await node.call(key.key, "POST", "/contacts", json=ACME, headers=ONCE)
    running = await node.call(key.key, "POST", "/contacts", json={"brand": "Zephyr"})
    joined = await node.call(other.key, "POST", "/contacts", json={"brand": "Zenith"})
    assert (done.status_code, running.status_code, joined.status_code) == (200, 202, 202)
    for each in frozen.nodes:
        assert (await each.call(key.key, "GET", "/usage")).status_code == 200
    return key, {"search": done.json()["id"], "running": running.json()["id"]}


def is_turned_away(answer: httpx.Response) -> bool:
    head = answer.request.method == "HEAD"
    code = "unauthorized" if head else answer.json()["error"]["code"]
    challenge = answer.headers.get("WWW-Authenticate")
    return (answer.status_code, code, challenge) == (
        401,
        "unauthorized",
        'Bearer error="invalid_token"',
    )


async def shut(frozen: Frozen, key: Any, how: str) -> None:
    """Rotate or revoke *key*, in another process as far as the nodes know."""
    if how == "rotated":
        await frozen.operator.rotate_key(key.id)
    else:
        assert await frozen.operator.revoke_key(key.id)


async def let_in(frozen: Frozen, how: str, nodes: int) -> dict[str, int]:
    """Return the calls, by name, that the old secret of a key got an answer to."""
    key, ids = await prepared(frozen, nodes)
    await shut(frozen, key, how)
    before = await frozen.log.head()
    found = {}
    for node in frozen.nodes:
        for name, method, path, sent in CALLS:
            # Each call meets a node that has not turned this secret away yet.
            node.api.keys.remember(key.id, hash_key(key.key))
            async with asyncio.timeout(20):
                answer = await node.call(key.key, method, path.format(**ids), **sent)
            if not is_turned_away(answer):
                found[name] = answer.status_code
    assert await frozen.log.head() == before, "something was stored for it"
    return found


@pytest.mark.parametrize("how", ["rotated", "revoked"])
async def test_every_route_of_every_node_turns_an_old_secret_away(
    shared: Frozen, how: str
) -> None:
    assert await let_in(shared, how, 2) == {}


async def held(node: Node, key: Any) -> asyncio.Task[httpx.Response]:
    """Make a call that is held."""
    before = node.api.held
    call = asyncio.create_task(
        node.call(key.key, "POST", "/contacts", json={"brand": "Kronos", "wait": True})
    )
    async with asyncio.timeout(20):
        while node.api.held == before:
            await asyncio.wait([call], timeout=0.02)
            assert not call.done()
    return call


async def released(frozen: Frozen, how: str, nodes: int) -> list[httpx.Response]:
    keys = [await frozen.new_key() for _ in range(nodes)]
    await frozen.start(nodes)
    pairs = list(zip(frozen.nodes, keys, strict=True))
    calls = [await held(node, key) for node, key in pairs]
    for key in keys:
        await shut(frozen, key, how)
    frozen.clock.set(frozen.clock.now() + timedelta(seconds=86))
    async with asyncio.timeout(20):
        return list(await asyncio.gather(*calls))


@pytest.mark.parametrize("how", ["rotated", "revoked"])
async def test_a_held_call_of_any_node_is_turned_away_when_it_is_released(
    shared: Frozen, how: str
) -> None:
    assert all(map(is_turned_away, await released(shared, how, 2)))


@pytest.mark.parametrize("how", ["rotated", "revoked"])
async def test_an_answer_from_memory_goes_by_what_was_last_read(
    embedded: Frozen, how: str
) -> None:
    key, still_good = await embedded.new_key(), await embedded.new_key()
    await embedded.start(1)
    (node,) = embedded.nodes
    calls = [await held(node, key), await held(node, still_good)]
    await shut(embedded, key, how)
    assert is_turned_away(await node.call(key.key, "GET", "/usage"))

    node.api.draining.set()
    async with asyncio.timeout(20):
        answers = await asyncio.gather(*calls)

    assert is_turned_away(answers[0])
    assert answers[1].status_code == 202


async def test_a_call_that_finds_the_line_full_goes_by_what_was_last_read(
    embedded: Frozen,
) -> None:
    key = await embedded.new_key()
    await embedded.start(1)
    (node,) = embedded.nodes
    await shut(embedded, key, "rotated")
    assert is_turned_away(await node.call(key.key, "GET", "/usage"))
    node.fill_the_line()

    for method, path in [("GET", "/usage"), ("GET", "/nothing"), ("POST", "/contacts")]:
        node.api.keys.remember(key.id, hash_key(key.key))
        assert is_turned_away(await node.call(key.key, method, path, json=ACME))


async def test_an_old_secret_costs_its_key_no_check(embedded: Frozen) -> None:
    key = await embedded.new_key()
    await embedded.start(1)
    (node,) = embedded.nodes
    new = await embedded.operator.rotate_key(key.id)
    node.api.keys.remember(key.id, hash_key(new.key))
    for _ in range(3):
        node.api.keys.remember(key.id, hash_key(key.key))
        assert is_turned_away(await node.call(key.key, "GET", "/usage"))

    node.api.keys.remember(key.id, hash_key(new.key))
    answer = await node.call(new.key, "GET", "/usage")

    assert 'checks";r=119' in answer.headers["RateLimit"]


async def test_events_that_come_again_turn_no_newer_secret_away(embedded: Frozen) -> None:
    await embedded.start(1)
    (node,) = embedded.nodes
    ring = node.api.keys
    head = await embedded.log.head()
    issued = KeyIssued(label="", quota=1, secret_hash="s1", last4="", at=AT)
    rotations = [KeyRotated(secret_hash=f"s{n}", last4="", at=AT) for n in (2, 3)]
    events: list[AnyEvent] = [issued, *rotations]
    recorded = [
        RecordedEvent(head + n, "key-key_1", n, event) for n, event in enumerate(events, 1)
    ]

    ring.on_events(recorded)
    ring.on_events(recorded[1:2])

    assert [ring.known(secret) for secret in ("s1", "s2", "s3")] == [None, None, "key_1"]


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
