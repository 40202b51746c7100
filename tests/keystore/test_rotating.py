"""A new master key, next to whoever uses the old one."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from cs.assembly.folder import open_folder
from cs.assembly.master_key import change, versions
from cs.keystore.port import WrongMasterKey
from cs.keystore.postgres import PostgresKeyStore
from cs.keystore.sqlite import SqliteKeyStore
from cs.keystore.wrapping import MasterKeys, Wrapping
from cs.postgres.pool import open_pool
from cs.postgres.schema import migrate
from cs.runtime.data_folder import DataFolder
from cs.settings import Settings

OLD, NEW = b"o" * 32, b"n" * 32
OLD_VERSION, VERSION = Wrapping(OLD).version, Wrapping(NEW).version
NAMES = [f"k{n}" for n in range(120)]

Store = SqliteKeyStore | PostgresKeyStore
Open = Callable[[Sequence[bytes]], AbstractAsyncContextManager[Store]]


@pytest.fixture(params=["sqlite", "postgres"])
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, database: str
) -> AsyncIterator[Open]:
    if request.param == "sqlite":

        @asynccontextmanager
        async def on_file(masters: Sequence[bytes]) -> AsyncIterator[Store]:
            keys = SqliteKeyStore(tmp_path / "keys.db", MasterKeys(lambda: masters))
            async with keys:
                yield keys

        yield on_file
        return
    async with open_pool(database, role="test") as pool:
        async with pool.acquire() as connection:
            await migrate(connection, "keys")

        @asynccontextmanager
        async def on_database(masters: Sequence[bytes]) -> AsyncIterator[Store]:
            async with PostgresKeyStore(pool, MasterKeys(lambda: masters)) as keys:
                yield keys

        yield on_database


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
        assert await keys.rotate(VERSION, lambda *at: progress.append(at), batch=50) == 119
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
        done = asyncio.create_task(command.rotate(VERSION, quiet, batch=7))
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


async def test_unnamed_wraps_of_an_older_store_are_found_and_rotated(store: Open) -> None:
    async with store([OLD]) as keys:
        made = await keys.ensure(NAMES)
        rows = []
        for name, key in made.items():
            nonce = os.urandom(12)
            rows.append((name, nonce + AESGCM(OLD).encrypt(nonce, key, name.encode())))
        await keys._database.fetch_many(
            "UPDATE data_key SET wrapped = $2 WHERE name = $1", rows
        )
    async with store([OLD, NEW]) as keys:
        assert await keys.left() == 0
        assert await keys.find(NAMES) == made
        await keys.begin_rotation(VERSION)
        assert await keys.left() == len(NAMES)
        assert await keys.rotate(VERSION, quiet) == len(NAMES)
    async with store([NEW]) as keys:
        assert await keys.find(made) == made


# A data folder, next to a running service.


async def test_a_service_on_the_folder_goes_on_and_the_next_start_needs_the_new_key_only(
    tmp_path: Path,
) -> None:
    folder, settings = DataFolder(tmp_path), Settings(data_dir=tmp_path)
    async with open_folder(folder) as data:
        made = await data.keys.ensure(NAMES)
        before = (await versions(settings)).in_use

        done = await change(settings, quiet)

        made = {**made, **await data.keys.ensure(["new"])}
        data.keys.forget()
        assert await data.keys.find(made) == made
    assert done.kept == tmp_path / f"master.key.{before}"
    assert (await versions(settings)).in_use == done.version != before
    assert not folder.next_master_key.exists()
    assert {f.stat().st_mode & 0o777 for f in tmp_path.iterdir()} == {0o600}  # noqa: ASYNC240
    done.kept.unlink()
    async with open_folder(folder) as data:
        assert await data.keys.find(made) == made
    again = await change(settings, quiet)
    assert again.version != done.version
