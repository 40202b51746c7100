"""A sandbox service that dies and comes back, at another address each time."""

import asyncio
import io
import os
import re
import signal
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from cs.assembly.folder_stores import open_folder
from cs.cli.app import main
from cs.domain.contact import Query
from cs.eventlog.streams import Streams
from cs.operations.operator import NewSecret, Operator
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import DataFolder
from harness.forked_process import ForkedProcess

_STARTED = re.compile(r"serving (\S+),")
_STDERR_BYTES = 1 << 20


@dataclass
class Mortal:
    """The service on *folder* with *world*, running or not.

    The world dies with it, unless it runs elsewhere: at ``addresses``, a file of
    `system.faults.lasting_world`.
    ``base_url`` is ``None`` while it cannot be called; ``said`` is all of standard error.
    """

    folder: Path
    world: Path
    addresses: Path | None = None
    base_url: str | None = None
    said: list[str] = field(default_factory=list)
    _up: asyncio.Event = field(default_factory=asyncio.Event)
    _process: ForkedProcess | None = None
    _reading: asyncio.Task[None] | None = None

    async def start(self, fail_points: str = "") -> None:
        """Start it; return at once."""
        assert self._process is None, "one at a time"
        kept = {k: v for k, v in os.environ.items() if not k.startswith("CS_")}
        module, *words = self._module()
        self._process = ForkedProcess(
            module,
            [*words, "--port=0", "--admin-port=0", f"--data-dir={self.folder}"],
            kept | {"CS_LOG_LEVEL": "warning", "CS_FAILPOINTS": fail_points, "COLUMNS": "400"},
        )
        self._reading = asyncio.create_task(self._read_stderr(self._process))

    def _module(self) -> list[str]:
        """Return what serves, a module and its own arguments."""
        if self.addresses is None:
            return ["cs", "serve", "--sandbox", str(self.world)]
        return ["system.faults.lasting_world", str(self.addresses)]

    async def live(self, life_s: float, *, from_birth: bool) -> int:
        """Start it and kill it *life_s* after it started, or could be called; exit code.

        It is the code of its own if it ends before.
        """
        await self.start()
        assert self._process is not None, "started"
        if not from_birth:
            called = asyncio.create_task(self.up())
            gone = asyncio.create_task(self._ended())
            await asyncio.wait({called, gone}, return_when=asyncio.FIRST_COMPLETED)
            called.cancel()
            gone.cancel()
        try:
            async with asyncio.timeout(life_s):
                await self._ended()
        except TimeoutError:
            self.kill()
        return await self.died()

    async def up(self) -> str:
        """Wait until it can be called; return the base URL."""
        while self.base_url is None:
            await self._up.wait()
        return self.base_url

    async def died(self) -> int:
        """Wait until it has ended; return the exit code, -9 for SIGKILL."""
        assert self._process is not None, "started"
        await self._ended()
        code = self._process.wait()
        self._process = self._reading = None
        return code

    async def _ended(self) -> None:
        """Wait until all that it wrote has been read: it has nothing open any more."""
        assert self._reading is not None, "started"
        await asyncio.shield(self._reading)

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            with suppress(ProcessLookupError):  # it ended just now
                os.kill(self._process.pid, number)

    async def end(self) -> int:
        """Make it leave as an operator would; return the exit code."""
        assert self._process is not None, "started"
        self._send(signal.SIGTERM)
        return await self.died()

    async def _read_stderr(self, process: ForkedProcess) -> None:
        lines = asyncio.StreamReader(_STDERR_BYTES)
        pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(lines), process.stderr
        )
        async for line in lines:
            text = line.decode()
            self.said.append(text)
            if found := _STARTED.match(text):
                self.base_url = found[1]
                self._up.set()
        pipe.close()
        self._up.clear()
        self.base_url = None


async def new_keys(folder: Path, quotas: list[int]) -> list[NewSecret]:
    """Create a key for each of *quotas*, as an operator does beside the service."""
    async with open_folder(DataFolder(folder)) as data:
        operator = Operator(Streams(data.log), SystemClock())
        return [await operator.create_key("faults", quota) for quota in quotas]


async def forget(folder: Path, body: dict[str, str]) -> None:
    """Make the next search for *body* a live one, beside the running service."""
    async with open_folder(DataFolder(folder)) as data:
        query = Query(body.get("brand"), body.get("domain"))
        await Operator(Streams(data.log), SystemClock()).forget_brand(query)


async def cs(*words: str) -> tuple[int, str]:
    """Run the command *words* in this process; return the exit code and what it printed."""
    return await asyncio.to_thread(_ran, words)


def _ran(words: Sequence[str]) -> tuple[int, str]:
    printed = io.TextIOWrapper(io.BytesIO(), write_through=True)
    code: int | str | None = 0
    with redirect_stdout(printed):
        try:
            main(words)
        except SystemExit as end:
            code = end.code
    structlog.reset_defaults()
    assert isinstance(code, int), code
    return code, printed.buffer.getvalue().decode()
