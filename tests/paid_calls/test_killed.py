"""Workers that are killed with a paid call under way, and those that come after them."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from outside.loopback_web import Web, WebRequest, reply, serve

HERE = Path(__file__).parent
PLUGIN = HERE.parent / "plugins" / "paid_source"

pytestmark = pytest.mark.slow


class Provider:
    """Takes money for every request; answers unless it is set to keep silent."""

    def __init__(self) -> None:
        self.silent = False
        self.asked = asyncio.Event()
        self.web = Web("", 0)

    async def answer(self, _: WebRequest, writer: asyncio.StreamWriter) -> None:
        self.asked.set()
        if self.silent:
            await asyncio.Event().wait()
        reply(writer, b"nobody")

    @property
    def keys(self) -> list[str]:
        return [asked.headers["idempotency-key"] for asked in self.web.asked]


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    provider = Provider()
    async with serve(provider.answer) as web:
        provider.web = web
        yield provider


@asynccontextmanager
async def worker(*words: str) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(HERE / "worker.py"), *words),
        stdout=PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, str(PLUGIN)])},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def ended(*words: str) -> str:
    """Run a worker to its end; return what it says of its source."""
    async with worker(*words) as process, asyncio.timeout(30):
        said, _ = await process.communicate()
    assert process.returncode == 0
    return said.decode().strip()


async def killed_between_call_and_answer(provider: Provider, *words: str) -> None:
    provider.silent = True
    async with worker(*words) as process, asyncio.timeout(30):
        await provider.asked.wait()
        process.kill()
    provider.silent = False


async def killed_before_storing(*words: str) -> None:
    async with worker(*words, "dies") as process, asyncio.timeout(30):
        assert await process.wait() == -signal.SIGKILL


async def test_a_call_under_way_when_its_worker_was_killed_is_not_made_again(
    provider: Provider, tmp_path: Path
) -> None:
    words = (str(tmp_path / "calls.db"), provider.web.url, "plain")
    await killed_between_call_and_answer(provider, *words)

    assert [await ended(*words), await ended(*words)] == ["sources-away", "sources-away"]

    assert len(provider.keys) == 1


async def test_a_provider_that_takes_a_key_is_asked_again_with_the_same_one(
    provider: Provider, migrated: str
) -> None:
    words = (migrated, provider.web.url, "takes-key")
    await killed_between_call_and_answer(provider, *words)
    await killed_before_storing(*words)

    assert [await ended(*words), await ended(*words)] == ["no_results", "no_results"]

    assert len(provider.keys) == 3
    assert len(set(provider.keys)) == 1
