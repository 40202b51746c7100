"""What every store of data keys does, wherever it keeps them."""

import asyncio
import hmac
from collections.abc import AsyncIterator

import pytest

from cs.keystore.port import KeyStore
from harness.memory_keys import MemoryKeyStore
from harness.places import Place, keys_in, kinds

kind = kinds("memory", "sqlite", "postgres")


@pytest.fixture
async def keys(kind: str, place: Place) -> AsyncIterator[KeyStore]:
    """An empty store."""
    if kind == "memory":
        yield MemoryKeyStore()
        return
    async with keys_in(place) as keys:
        yield keys


async def test_a_key_is_made_once_and_is_256_bits(keys: KeyStore) -> None:
    first = await keys.ensure(["a", "b"])
    again = await keys.ensure(["b", "c", "a"])

    assert set(first) == {"a", "b"}
    assert {len(key) for key in again.values()} == {32}
    assert len(set(again.values())) == 3
    assert (again["a"], again["b"]) == (first["a"], first["b"])


async def test_look_distinguishes_destroyed_keys_from_those_never_made(keys: KeyStore) -> None:
    made = await keys.ensure(["a", "b"])
    await keys.destroy(["b", "c"])

    assert await keys.look(["a", "b", "c", "d"]) == {"a": made["a"], "b": None, "c": None}
    assert await keys.look([]) == {}


async def test_many_keys_at_once(keys: KeyStore) -> None:
    names = [f"brand-a.1#p{n}" for n in range(1_200)]

    made = await keys.ensure(names)

    assert await keys.find(names) == made
    assert len(set(made.values())) == 1_200


async def test_a_destroyed_key_is_gone_and_its_name_gets_no_new_one(keys: KeyStore) -> None:
    await keys.ensure(["a", "b"])

    await keys.destroy(["a"])

    assert set(await keys.find(["a", "b"])) == {"b"}
    assert set(await keys.ensure(["a", "b"])) == {"b"}
    await keys.destroy(["a"])
    assert set(await keys.ensure(["a"])) == set()


async def test_a_name_destroyed_before_it_had_a_key_never_gets_one(keys: KeyStore) -> None:
    await keys.destroy(["a"])

    assert await keys.ensure(["a"]) == {}


async def test_callers_at_once_get_one_key(keys: KeyStore) -> None:
    answers = await asyncio.gather(*(keys.ensure(["a"]) for _ in range(20)))

    assert len({answer["a"] for answer in answers}) == 1


async def test_a_fingerprint_tells_kinds_and_values_apart_and_nothing_else(
    keys: KeyStore,
) -> None:
    prints = {
        keys.fingerprint(kind, value)
        for kind in ("email", "profile")
        for value in ("jo@acme.example", "al@acme.example", "")
    }

    assert len(prints) == 6
    assert keys.fingerprint("email", "jo@acme.example") in prints
    assert all(set(text) <= set("0123456789abcdef") for text in prints)


async def test_a_suppressed_person_gets_no_key_when_indexed_at_once(
    keys: KeyStore,
) -> None:
    jo = keys.fingerprint("email", "jo@acme.example")
    bo = keys.fingerprint("email", "bo@acme.example")
    await keys.suppress([jo])
    before = await keys.ensure(["b", "c"])

    made = await keys.ensure_indexed(["a", "b", "d"], [(jo, "a"), (bo, "b"), (jo, "c")])

    assert made.keys() == {"b", "d"}
    assert made["b"] == before["b"]
    assert await keys.matching([jo]) == {"a", "c"}
    assert await keys.matching([bo]) == {"b"}
    assert await keys.ensure_indexed(["c"], []) == {}, "its key was destroyed"


# Secrets.


async def test_a_secret_is_made_once_and_is_256_bits(keys: KeyStore) -> None:
    first = await keys.secret("a")

    assert len(first) == 32
    assert await keys.secret("a") == first
    assert await keys.secret("b") != first


async def test_a_secret_is_no_data_key(keys: KeyStore) -> None:
    secret = await keys.secret("a")
    made = await keys.ensure(["a", "secret:a"])
    await keys.destroy(["a", "secret:a"])

    assert secret not in made.values()
    keys.forget()
    assert await keys.secret("a") == secret


async def test_fingerprints_are_made_with_the_secret_of_that_name(keys: KeyStore) -> None:
    secret = await keys.secret("fingerprints")

    assert keys.fingerprint("email", "jo@acme.example") == (
        hmac.new(secret, b"email\0jo@acme.example", "sha256").hexdigest()
    )


# Suppressed by mistake.


async def test_what_is_suppressed_no_longer_may_have_a_key_again(keys: KeyStore) -> None:
    jo = keys.fingerprint("email", "jo@acme.example")
    bo = keys.fingerprint("email", "bo@acme.example")
    await keys.suppress([jo, bo])
    await keys.ensure(["a"])
    await keys.ensure_indexed((), [(jo, "a")])

    await keys.unsuppress([jo, "never suppressed"])
    await keys.ensure(["b"])
    await keys.ensure_indexed((), [(jo, "b")])

    assert await keys.suppressed([jo, bo]) == {bo}
    assert (await keys.find(["a", "b"])).keys() == {"b"}, "what was destroyed stays so"


async def test_a_suppressed_fingerprint_refuses_every_name_under_it(keys: KeyStore) -> None:
    await keys.ensure_indexed((), [("f1", "old"), ("f2", "old"), ("f2", "b"), ("f3", "c")])
    await keys.ensure(["old", "b", "c", "new"])
    assert await keys.matching(["f1", "f9"]) == {"old"}
    assert await keys.matching(["f1", "f2"]) == {"old", "b"}

    await keys.suppress(["f1", "f4"])
    await keys.destroy(["old"])
    await keys.ensure_indexed((), [("f4", "new"), ("f4", "never")])

    assert await keys.suppressed(["f1", "f3", "f4"]) == {"f1", "f4"}
    assert await keys.matching(["f1"]) == {"old"}, "destroyed ones are found"
    assert set(await keys.ensure(["old", "new", "never", "b", "c"])) == {"b", "c"}
    assert set(await keys.find(["new", "b", "c"])) == {"b", "c"}
