"""One sandbox service on many ports: a sound one, and one for each broken server.

``python -m conformance.broken_service FOLDER`` says on standard error where they are, as one
line of JSON.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from conformance.breaking import Breaking, Spoil
from conformance.broken_servers import BROKEN
from conformance.repeated_runs import Ended, Run
from conformance.rows import ROOT
from conformance.sandboxes import made_in
from conformance.target import ADMIN, COMMAND, KEYS, URLS, Key
from cs import settings
from cs.admin.app import build as admin_app
from cs.assembly.folder import sandbox_clock
from cs.assembly.one_process import clock_advance, run_embedded
from cs.assembly.plugins import open_plugins
from cs.assembly.sandbox_world import run_sandbox
from cs.http_server.serving import address, listen, on_signal, serving
from cs.runtime import logs
from cs.sandbox.world import load
from harness.service_process import ServiceProcess

SOUND = "sound"
HOST = "127.0.0.1"
#: Keys that a test may need, by quota, whatever it is run with.
EACH = {100: 16, 2: 2, 1: 2, 0: 2}


async def serve(folder: Path) -> None:
    """Serve until told to end."""
    logs.configure("error", "console")
    chosen = settings.load(environment={}, given={"data_dir": folder / "data"})
    async with AsyncExitStack() as stack:
        clock = sandbox_clock(chosen.data_dir)
        chosen = await stack.enter_async_context(
            run_sandbox(chosen, load(None), folder / "certificates", clock)
        )
        tools = await stack.enter_async_context(open_plugins(chosen, clock, world="sandbox"))
        service = await stack.enter_async_context(run_embedded(chosen, tools, "sandbox", clock))
        admin = stack.enter_context(listen(HOST, 0))
        sockets = {n: stack.enter_context(listen(HOST, 0)) for n in (SOUND, *BROKEN)}
        spoils = {SOUND: Spoil()} | {name: broken.spoil() for name, broken in BROKEN.items()}
        apps = [(Breaking(service.app, spoils[name]), sockets[name]) for name in sockets]
        admin_part = (admin_app(service.ready, clock_advance(service, clock)), admin)
        await stack.enter_async_context(serving([admin_part, *apps], service.api.draining))
        leaving = asyncio.Event()
        with on_signal(leaving.set):
            urls = {name: f"{address(socket)}/v1" for name, socket in sockets.items()}
            print(json.dumps({"admin": address(admin), "urls": urls}), file=sys.stderr)  # noqa: T201
            await leaving.wait()


@dataclass(frozen=True)
class Runs:
    """A process that runs tests of the suite whenever it is asked to."""

    process: "subprocess.Popen[str]"

    def ended(self, run: Run) -> Ended:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{json.dumps(asdict(run))}\n")
        self.process.stdin.flush()
        return Ended(**json.loads(self.process.stdout.readline()))


@contextmanager
def repeated_runs() -> Iterator[Runs]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CS_")}
    with subprocess.Popen(
        [sys.executable, "-m", "conformance.repeated_runs"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Without other plug-ins it starts in half of the time.
        env=clean | {"PYTHONPATH": str(ROOT / "tests"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    ) as process:
        try:
            yield Runs(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()  # it ends


@dataclass(frozen=True)
class Broken:
    """Where the servers are, and what a run of the suite is told of one."""

    folder: Path
    admin: str
    urls: Mapping[str, str]
    pool: Mapping[int, list[Key]]
    runs: Runs

    def red(self, server: str, *tests: str) -> list[str]:
        """Run *tests* of the suite against *server*; return those that failed.

        Raises:
            RuntimeError: The run itself went wrong.
        """
        keys = self.folder / "keys"
        keys.write_text("\n".join(self._unused(len(tests))))
        run = Run(
            tests,
            {
                URLS: self.urls[server],
                ADMIN: self.admin,
                KEYS: str(keys),
                COMMAND: f"env CS_DATA_DIR={self.folder / 'data'} {sys.executable} -m cs",
            },
        )
        ended = self.runs.ended(run)
        if ended.code not in {0, 1}:
            raise RuntimeError(ended.output)
        return [*ended.failed]

    def _unused(self, tests: int) -> Iterator[str]:
        """Hand out keys for *tests*: what another run did with one would show in this one."""
        for quota, keys in self.pool.items():
            for _ in range(tests * EACH[quota]):
                yield json.dumps(asdict(keys.pop()))


@contextmanager
def broken_service(folder: Path) -> Iterator[Broken]:
    """Run all servers in a process of their own until left."""
    number = 2 * len(BROKEN)  # each test runs twice: against the sound server as well
    wanted = {quota: number * each for quota, each in EACH.items()}
    pool = asyncio.run(made_in(folder / "data", wanted))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CS_")}
    servers = ServiceProcess(
        "broken servers",
        [str(folder)],
        clean | {"PYTHONPATH": str(ROOT / "tests")},
        ready=re.compile(r'{"admin": .*}'),
        module=__spec__.name,
    )
    servers.start()
    try:
        servers.wait_ready()
        assert servers.ready_line is not None, "it is ready"
        where = json.loads(servers.ready_line[0])
        with repeated_runs() as runs:
            yield Broken(folder, where["admin"], where["urls"], pool, runs)
    finally:
        servers.end()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
