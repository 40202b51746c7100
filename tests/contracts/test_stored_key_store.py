"""What stored data keys do next to other processes, and with a new master key."""

import asyncio
import hmac
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from hashlib import sha256
from typing import Any, TypeAlias

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from cs.keystore.port import KeyStore, WrongMasterKey
from harness.places import EVERY_POSTGRES, Place, keys_in, kinds, sql, stored_bytes

kind = kinds("sqlite", *EVERY_POSTGRES)
OLD, NEW = b"o" * 32, b"n" * 32
NAMES = [f"k{n}" for n in range(120)]
FILE = "keys.db"

#: Opens one and the same store with master keys, as a process does.
Open: TypeAlias = Callable[..., AbstractAsyncContextManager[Any]]


def version_of(master: bytes) -> str:
    """Return what a master key is called."""
    index = hmac.digest(master, b"index", "sha256")
    return sha256(hmac.digest(index, b"proof", "sha256")).hexdigest()[:8]


OLD_VERSION, VERSION = version_of(OLD), version_of(NEW)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cs.keystore.store.REWRAPPED", 50)


@pytest.fixture
def store(place: Place) -> Open:
    return partial(keys_in, place)


@pytest.fixture
async def keys(store: Open) -> AsyncIterator[KeyStore]:
    async with store([OLD]) as keys:
        yield keys


@pytest.fixture
async def other(store: Open) -> AsyncIterator[KeyStore]:
    async with store([OLD]) as other:
        yield other


async def test_another_master_key_is_refused(store: Open, keys: KeyStore) -> None:
    await keys.ensure(["a"])

    with pytest.raises(WrongMasterKey, match="another master key"):
        async with store([NEW]):
            pass


async def test_keys_and_fingerprints_are_the_same_after_a_restart(store: Open) -> None:
    async with store([OLD]) as keys:
        made = await keys.ensure(["a", "b"])
        await keys.destroy(["b"])
        print_ = keys.fingerprint("email", "jo@acme.example")

    async with store([OLD]) as keys:
        assert await keys.ensure(["a", "b"]) == {"a": made["a"]}
        assert keys.fingerprint("email", "jo@acme.example") == print_


async def test_two_processes_make_one_key(keys: KeyStore, other: KeyStore) -> None:
    answers = await asyncio.gather(
        *(store.ensure([f"k{n}", f"k{9 - n}"]) for n in range(10) for store in (keys, other))
    )

    made: dict[str, set[bytes]] = {}
    for answer in answers:
        for name, key in answer.items():
            made.setdefault(name, set()).add(key)
    assert {name: len(found) for name, found in made.items()} == {f"k{n}": 1 for n in range(10)}


async def test_processes_that_open_a_new_store_at_once_make_the_same_fingerprints(
    store: Open,
) -> None:
    async def opened() -> Any:
        async with store([OLD]) as keys:
            return keys.fingerprint("email", "a")

    assert len(set(await asyncio.gather(*(opened() for _ in range(5))))) == 1


async def test_what_another_process_does_holds_once_memory_is_forgotten(
    keys: KeyStore, other: KeyStore
) -> None:
    await keys.ensure(["a", "b"])
    await other.suppress(["f1"])
    await other.destroy(["a"])
    assert set(await keys.find(["a"])) == {"a"}, "it is kept open in memory"

    keys.forget()

    assert set(await keys.find(["a", "b"])) == {"b"}
    await keys.ensure_indexed((), [("f1", "c")])
    assert await keys.ensure(["a", "c"]) == {}
    assert await keys.suppressed(["f1"]) == {"f1"}


async def test_a_key_kept_in_memory_is_no_key_once_the_store_has_forgotten_it(
    place: Place, keys: KeyStore
) -> None:
    before = await keys.ensure(["a", "b"])
    await sql(place, FILE, "DELETE FROM data_key WHERE name = 'a'")

    after = await keys.ensure(["a", "b"])

    assert after["b"] == before["b"]
    assert after["a"] != before["a"]
    assert keys.lost.keys == {"another": 1}
    assert await keys.find(["a"]) == {"a": after["a"]}


async def test_a_key_moved_to_another_name_does_not_open(
    place: Place, store: Open, keys: KeyStore
) -> None:
    await keys.ensure(["a", "b"])
    await sql(
        place,
        FILE,
        "UPDATE data_key SET wrapped = (SELECT wrapped FROM data_key WHERE name = 'a') "
        "WHERE name = 'b'",
    )

    async with store([OLD]) as fresh:
        with pytest.raises(WrongMasterKey, match="'b'"):
            await fresh.find(["b"])
        assert set(await fresh.find(["a"])) == {"a"}


# On the disk.


async def test_no_key_stands_on_the_disk_as_it_is(place: Place, keys: KeyStore) -> None:
    made = await keys.ensure(["a", "b"])
    secrets = [await keys.secret(name) for name in ("a", "fingerprints")]

    tables = "data_key|master|secret|person_index"
    stored = await stored_bytes(place, FILE, tables)

    (wrapped,) = await sql(place, FILE, "SELECT wrapped FROM data_key WHERE name = 'a'")
    assert wrapped[0] in stored, "what is there is found like this"
    assert not any(key in stored for key in (*made.values(), *secrets, OLD))


async def test_nothing_of_a_destroyed_key_stays_on_the_disk(
    place: Place, keys: KeyStore
) -> None:
    """Of one that is destroyed since its person is suppressed, neither."""
    jo = keys.fingerprint("email", "jo@acme.example")
    names = [f"k{n}" for n in range(3_000)]
    await keys.ensure(names)
    rows = dict(await sql(place, FILE, "SELECT name, wrapped FROM data_key"))
    kept = rows.pop("k9")

    await keys.destroy(names[10:])
    await keys.suppress([jo])
    await keys.ensure_indexed((), [(jo, name) for name in names[:9]])

    stored = await stored_bytes(place, FILE, "data_key")
    assert kept in stored
    assert not any(wrapped in stored for wrapped in rows.values())
    assert (await keys.find(names)).keys() == {"k9"}


async def test_the_index_holds_fingerprints_and_names_only(
    place: Place, keys: KeyStore
) -> None:
    jo = keys.fingerprint("email", "jo@acme.example")

    await keys.ensure_indexed((), [(jo, "brand-a.1#p1"), (jo, "brand-b.1#p4")])

    rows = await sql(place, FILE, "SELECT * FROM person_index ORDER BY name")
    assert rows == [(jo, "brand-a.1#p1"), (jo, "brand-b.1#p4")]


async def test_a_person_suppressed_next_to_many_indexings_never_keeps_a_key(
    keys: KeyStore, other: KeyStore
) -> None:
    print_ = keys.fingerprint("email", "jo@acme.example")
    names = [f"brand-a.{n}#p" for n in range(40)]

    async def index(name: str, store: KeyStore) -> None:
        entries = [(print_, name), (keys.fingerprint("x", name), name)]
        await store.ensure_indexed([name], entries)

    async def erase() -> None:
        await other.suppress([print_])
        await other.destroy(await other.matching([print_]))

    halves = [(name, keys if n % 2 else other) for n, name in enumerate(names)]
    await asyncio.gather(*(index(*each) for each in halves), erase())

    keys.forget()
    assert await keys.find(names) == {}


async def test_a_key_read_before_it_was_destroyed_is_not_kept_after(
    keys: KeyStore, other: KeyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await other.ensure(["a"])
    was_read, go_on = asyncio.Event(), asyncio.Event()
    read = keys._stored_keys  # type: ignore[attr-defined]

    async def slowly(names: Any) -> Any:
        found = await read(names)
        was_read.set()
        async with asyncio.timeout(10):
            await go_on.wait()
        return found

    monkeypatch.setattr(keys, "_stored_keys", slowly)
    reading = asyncio.create_task(keys.find(["a"]))
    await was_read.wait()
    await other.destroy(["a"])
    keys.forget()
    go_on.set()
    await reading

    assert await keys.find(["a"]) == {}


# A new master key, next to processes that use the old one.


def quiet(_done: int, _every: int) -> None:
    pass


async def test_afterwards_the_new_one_opens_everything_and_the_old_one_nothing(
    store: Open,
) -> None:
    async with store([OLD]) as keys:
        made = dict(await keys.ensure(NAMES))
        await keys.destroy(["k3"])
        secret, print_ = await keys.secret("a"), keys.fingerprint("email", "jo@acme.example")
        await keys.suppress([print_])
    progress: list[tuple[int, int]] = []
    async with store([OLD, NEW]) as keys:
        assert await keys.rotate(VERSION, lambda *at: progress.append(at)) == 119
        assert await keys.versions() == [VERSION]

    assert progress == [(50, 119), (100, 119), (119, 119)]
    async with store([NEW]) as keys:
        del made["k3"]
        assert await keys.find(NAMES) == made
        assert await keys.secret("a") == secret
        assert await keys.suppressed([keys.fingerprint("email", "jo@acme.example")]) == {print_}
        assert await keys.ensure(["k3"]) == {}
    with pytest.raises(WrongMasterKey, match=f"another master key, {VERSION}.* {OLD_VERSION}"):
        async with store([OLD]):
            pass


async def test_processes_that_hold_both_go_on_and_what_they_make_is_wrapped_with_the_new_one(
    store: Open,
) -> None:
    async with store([OLD, NEW]) as service, store([OLD, NEW]) as command:
        made = dict(await service.ensure(NAMES))
        done = asyncio.create_task(command.rotate(VERSION, quiet))
        while not done.done():
            made |= await service.ensure([f"new{len(made)}"])
            service.forget()
            assert await service.find(made) == made
        await done

    async with store([NEW]) as keys:
        assert await keys.left() == 0
        assert await keys.find(made) == made


async def test_a_process_that_gets_the_new_one_later_finds_it_when_it_needs_it(
    store: Open,
) -> None:
    given = [OLD]
    async with store(given) as service, store([OLD, NEW]) as command:
        made = await service.ensure(["a"])
        await command.begin_rotation(VERSION)
        with pytest.raises(WrongMasterKey, match=VERSION):
            await service.ensure(["b"])

        given.append(NEW)
        made = {**made, **await service.ensure(["b"])}
        await command.rotate(VERSION, quiet)
        service.forget()
        assert await service.find(["a", "b"]) == made


@pytest.mark.parametrize("batches", [0, 1, 2, 3])
async def test_cut_off_anywhere_it_is_gone_on_with(store: Open, batches: int) -> None:
    async with store([OLD, NEW]) as keys:
        made = await keys.ensure(NAMES)
        await keys.begin_rotation(VERSION)
        after = ""
        for _ in range(batches):
            after, _ = await keys.rewrap(after, 50)
    for masters in ([OLD], [NEW]):
        with pytest.raises(WrongMasterKey):
            async with store(masters):
                pass

    async with store([OLD, NEW]) as keys:
        assert await keys.find(NAMES) == made
        assert await keys.versions() == [VERSION, OLD_VERSION]
        assert await keys.rotate(VERSION, quiet) == max(0, len(NAMES) - 50 * batches)
    async with store([NEW]) as keys:
        assert await keys.find(NAMES) == made


async def test_a_key_destroyed_in_the_middle_does_not_come_back(store: Open) -> None:
    async with store([OLD, NEW]) as keys:
        await keys.ensure(NAMES)
        await keys.begin_rotation(VERSION)
        await keys.rewrap("", 50)
        await keys.destroy(NAMES[::2])
        await keys.rotate(VERSION, quiet)
        assert set(await keys.find(NAMES)) == set(NAMES[1::2])


async def test_unnamed_wraps_of_an_older_store_are_found_and_rotated(
    place: Place, store: Open
) -> None:
    async with store([OLD]) as keys:
        made = await keys.ensure(NAMES)
        for name, key in made.items():
            nonce = os.urandom(12)
            wrapped = nonce + AESGCM(OLD).encrypt(nonce, key, name.encode())
            change = "UPDATE data_key SET wrapped = $2 WHERE name = $1"
            await sql(place, FILE, change, name, wrapped)
    async with store([OLD, NEW]) as keys:
        assert await keys.left() == 0
        assert await keys.find(NAMES) == made
        await keys.begin_rotation(VERSION)
        assert await keys.left() == len(NAMES)
        assert await keys.rotate(VERSION, quiet) == len(NAMES)
    async with store([NEW]) as keys:
        assert await keys.find(made) == made
