"""A world that outlives the service: what it asks does not die of the service's death.

``python -m system.faults.lasting_world FILE`` is ``cs serve --sandbox`` for a world that runs
already, in the process that wrote where it is into *FILE*.  The mail servers of ``cs serve
--sandbox`` itself die with it, and forget whose mail they put off: a server on the internet
does not, and a lookup that is put off again in every life of the service runs out of attempts.
"""

import argparse
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from cs.admin.sandbox_clock import SandboxClock
from cs.assembly.sandbox_world import settings_for_sandbox
from cs.cli.serve import serve_in
from cs.sandbox.run import Addresses, open_sandbox
from cs.sandbox.world import load
from cs.settings import Settings
from cs.settings import load as settings

#: Longer than a greylisting server remembers a client.
_TIME_OUT_OF_MIND_S = 31 * 86_400.0


@dataclass
class WorldClock:
    """The time of the world's mail servers, in seconds."""

    ahead_s: float = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead_s

    def forget(self) -> None:
        """Let so much time pass that every greylist has forgotten every client."""
        self.ahead_s += _TIME_OUT_OF_MIND_S


@asynccontextmanager
async def lasting_world(world: Path, folder: Path, clock: WorldClock) -> AsyncIterator[Path]:
    """Run *world* in this process; yield the file in *folder* that says where it is."""
    async with open_sandbox(load(world), folder=folder, clock=clock) as addresses:
        file = folder / "addresses.json"
        file.write_bytes(msgspec.json.encode(addresses, enc_hook=str))
        yield file


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve in a world that runs already.")
    parser.add_argument("addresses", type=Path)
    parser.add_argument("--port", type=int)
    parser.add_argument("--admin-port", type=int)
    parser.add_argument("--data-dir", type=Path)
    given = vars(parser.parse_args())
    addresses = msgspec.json.decode(
        given.pop("addresses").read_bytes(), type=Addresses, dec_hook=_path
    )

    @asynccontextmanager
    async def enter(
        chosen: Settings, _folder: Path, _clock: SandboxClock
    ) -> AsyncIterator[Settings]:
        yield settings_for_sandbox(chosen, addresses)

    serve_in(settings(given=given), enter)


def _path(kind: type, value: Any) -> Path:
    assert kind is Path, kind
    return Path(value)


if __name__ == "__main__":
    main()
