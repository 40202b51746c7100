"""One sandbox service on many ports: a sound one, and one for each broken server.

``python -m conformance.broken_service FOLDER`` writes where they are, as one line of JSON.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from conformance.breaking import Breaking, Spoil
from conformance.broken_servers import BROKEN
from conformance.rows import HERE, ROOT
from conformance.sandboxes import made_in
from conformance.target import ADMIN, COMMAND, KEYS, URLS, Key
from cs import settings
from cs.admin.app import build as admin_app
from cs.assembly.embedded import run_embedded
from cs.assembly.folder_clock import sandbox_clock
from cs.assembly.plugins import open_plugins
from cs.assembly.sandbox_world import clock_advance
from cs.cli.sandbox_service import enter_world
from cs.http_server.serving import address, listen, on_signal, serving
from cs.runtime import logs
from cs.sandbox.world import load

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
        chosen = await enter_world(stack, chosen, load(None), folder / "certificates", clock)
        tools = await stack.enter_async_context(open_plugins(chosen, clock, world="sandbox"))
        service = await stack.enter_async_context(run_embedded(chosen, tools, "sandbox", clock))
        admin = stack.enter_context(listen(HOST, 0))
        sockets = {n: stack.enter_context(listen(HOST, 0)) for n in (SOUND, *BROKEN)}
        spoils = {SOUND: Spoil()} | {name: broken.spoil() for name, broken in BROKEN.items()}
        apps = [(Breaking(service.app, spoils[name]), sockets[name]) for name in sockets]
        admin_part = (admin_app(service.health, clock_advance(service, clock)), admin)
        await stack.enter_async_context(serving([admin_part, *apps], service.api.draining))
        leaving = asyncio.Event()
        with on_signal(leaving.set):
            urls = {name: f"{address(socket)}/v1" for name, socket in sockets.items()}
            print(json.dumps({"admin": address(admin), "urls": urls}), flush=True)  # noqa: T201
            await leaving.wait()


@dataclass(frozen=True)
class Broken:
    """Where the servers are, and what a run of the suite is told of one."""

    folder: Path
    admin: str
    urls: Mapping[str, str]
    pool: Mapping[int, list[Key]]

    def red(self, server: str, *tests: str) -> list[str]:
        """Run *tests* of the suite against *server*; return those that failed.

        Raises:
            RuntimeError: The run itself went wrong.
        """
        clean = {name: v for name, v in os.environ.items() if not name.startswith("CS_")}
        keys = self.folder / "keys"
        keys.write_text("\n".join(self._unused(len(tests))))
        ran = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=no"),
                *(
                    "-p",
                    "no:cacheprovider",
                    "-p",
                    "pytest_asyncio.plugin",
                    "-p",
                    "pytest_timeout",
                ),
                *("--rootdir", str(ROOT), "--confcutdir", str(HERE)),
                *(str(HERE / test) for test in tests),
            ],
            cwd=ROOT,
            env=clean
            | {
                URLS: self.urls[server],
                ADMIN: self.admin,
                KEYS: str(keys),
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # more than half of the time
                COMMAND: f"env CS_DATA_DIR={self.folder / 'data'} {sys.executable} -m cs",
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
        )
        lines = ran.stdout.splitlines()
        if ran.returncode not in {0, 1} or any(line.startswith("ERROR") for line in lines):
            raise RuntimeError(ran.stdout + ran.stderr)
        failed = [line.removeprefix("FAILED ") for line in lines if line.startswith("FAILED ")]
        return [line.partition("tests/conformance/")[2].partition(" - ")[0] for line in failed]

    def _unused(self, tests: int) -> Iterator[str]:
        """Hand out keys for *tests*: what another run did with one would show in this one."""
        for quota, keys in self.pool.items():
            for _ in range(tests * EACH[quota]):
                yield json.dumps(asdict(keys.pop()))


@contextmanager
def broken_service(folder: Path) -> Iterator[Broken]:
    """Run all servers in a process of their own until left."""
    runs = 2 * len(BROKEN)  # each test runs twice: against the sound server as well
    wanted = {quota: runs * each for quota, each in EACH.items()}
    pool = asyncio.run(made_in(folder / "data", wanted))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CS_")}
    process = subprocess.Popen(
        [sys.executable, "-m", __spec__.name, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env=clean | {"PYTHONPATH": str(ROOT / "tests")},
    )
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        yield Broken(folder, told["admin"], told["urls"], pool)
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
