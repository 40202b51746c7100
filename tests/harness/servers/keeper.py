"""Keep one server for as long as somebody holds its folder; a process of its own.

    python -m harness.servers.keeper FOLDER postgres [16|18]
    python -m harness.servers.keeper FOLDER kafka

Run by `shared`, which explains the files in FOLDER.
"""

import fcntl
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from harness.servers.kafka import running_kafka
from harness.servers.missing import Missing
from harness.servers.own_folder import own_folder
from harness.servers.postgres import running_postgres
from harness.servers.programs import find_binaries

#: In the folder: where the server is, once it answers; why there is none; who is here.
ADDRESS, MISSING, HELD = "address", "missing", "held"


def main(folder: Path, server: str, version: str | None) -> None:
    signal.signal(signal.SIGTERM, _leave)
    try:
        with running(server, int(version) if version else None) as address:
            _write(folder / ADDRESS, address)
            with (folder / HELD).open() as held:
                fcntl.flock(held, fcntl.LOCK_EX)
                # Who comes now waits at the lock until all is cleared away.
                (folder / ADDRESS).unlink()
    except Missing as missing:
        _write(folder / MISSING, str(missing))


@contextmanager
def running(server: str, version: int | None = None) -> Iterator[str]:
    """Run a server of that name in a folder of its own; its address is what clients need."""
    with own_folder() as folder:
        match server:
            case "postgres":
                binaries = find_binaries(version)
                with running_postgres(folder / "postgres", binaries=binaries) as postgres:
                    yield postgres.dsn
            case "kafka":
                with running_kafka(folder / "kafka") as kafka:
                    yield kafka.bootstrap
            case _:
                raise ValueError(server)


def _write(file: Path, text: str) -> None:
    """Write *file* so that it is never seen half."""
    draft = file.with_suffix(".draft")
    draft.write_text(text)
    draft.replace(file)


def _leave(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(os.EX_OK)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None)
