"""A change of the master key whose process is killed: done again, it finds every key."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from cs.assembly.folder import open_folder
from cs.assembly.folder_keys import folder_of, open_key_store
from cs.assembly.master_key import change, versions
from cs.assembly.postgres_stores import open_shared_key_store
from cs.keystore.postgres import PostgresKeyStore
from cs.keystore.sqlite import SqliteKeyStore
from cs.postgres.pool import open_pool
from cs.postgres.schema import migrate
from cs.runtime.data_folder import DataFolder
from cs.settings import Settings
from keystore.killed_rotation import KEYS, POINTS, settings

pytestmark = pytest.mark.slow

NAMES = [f"k{n:04}" for n in range(KEYS)]


def store(chosen: Settings) -> AbstractAsyncContextManager[SqliteKeyStore | PostgresKeyStore]:
    if chosen.postgres is not None:
        return open_shared_key_store(chosen, "test")
    return open_key_store(folder_of(chosen, make=False))


@pytest.fixture(params=["folder", "databases"])
async def where(
    request: pytest.FixtureRequest, tmp_path: Path, database: str
) -> AsyncIterator[list[str]]:
    """What `killed_rotation.settings` takes."""
    data = tmp_path / "data"
    if request.param == "folder":
        async with open_folder(DataFolder(data)):
            pass
        yield [str(data)]
        return
    async with open_pool(database, role="test") as pool, pool.acquire() as connection:
        await migrate(connection, "keys")
    files = [tmp_path / name for name in ("master", "next")]
    for file in files:
        file.write_bytes(os.urandom(32))
        file.chmod(0o600)
    yield [str(data), database, *map(str, files)]


async def killed(point: str, where: list[str]) -> None:
    script = Path(__file__).with_name("killed_rotation.py")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(script), point, *where),
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    async with asyncio.timeout(60):
        assert await process.wait() == -signal.SIGKILL


@pytest.mark.parametrize("point", POINTS)
async def test_done_again_it_ends_and_every_key_is_found(where: list[str], point: str) -> None:
    chosen = settings(*where)
    if chosen.postgres is not None and point == "not in place":
        return  # nothing is put in place: the operator names the new key
    async with store(chosen) as keys:
        made = dict(await keys.ensure(NAMES))
        secret, print_ = await keys.secret("a"), keys.fingerprint("email", "jo@acme.example")

    await killed(point, where)

    async with store(chosen) as keys:  # a service that starts, or goes on, goes on
        assert await keys.find(NAMES) == made
        made |= await keys.ensure(["new"])
    before = (await versions(chosen)).in_use
    again = await change(chosen, lambda *_: None)
    assert again.version == before, "what was begun is ended, and not begun anew"
    if chosen.next_master_key_file is not None:
        file = chosen.next_master_key_file
        chosen = Settings(postgres="-", keys_postgres=where[1], master_key_file=file)
    elif again.kept is not None:
        again.kept.unlink()
    async with store(chosen) as keys:
        assert await keys.find([*NAMES, "new"]) == made
        assert (await keys.left(), await keys.versions()) == (0, [again.version])
        assert await keys.secret("a") == secret
        assert keys.fingerprint("email", "jo@acme.example") == print_
