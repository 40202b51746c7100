"""`python -m harness.servers`, which `make servers` runs: the servers of the tests."""

# ruff: noqa: T201 - a command prints

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType

from harness.servers.kafka import running_kafka
from harness.servers.missing import Missing
from harness.servers.own_folder import own_folder
from harness.servers.postgres import running_postgres
from harness.servers.programs import find_binaries


def main(words: list[str] | None = None) -> int:
    """Run both servers until a signal, and print their addresses for a shell to evaluate."""
    arguments = _parser().parse_args(words)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with own_folder() as folder:
            _run(folder, arguments.brokers, arguments.postgres)
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("ended", file=sys.stderr)
    return 0


def _run(folder: Path, brokers: int, version: int | None) -> None:
    binaries = find_binaries(version)
    with running_postgres(folder / "postgres", binaries=binaries, durable=True) as database:
        print(f"export CS_TEST_POSTGRES={database.dsn}", flush=True)
        with running_kafka(folder / "kafka", brokers=brokers) as kafka:
            print(f"export CS_TEST_KAFKA={kafka.bootstrap}", flush=True)
            print(f"both run in {folder}; Ctrl-C ends them", file=sys.stderr)
            signal.pause()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m harness.servers",
        description="Start PostgreSQL and Kafka on this machine, without root and without "
        "Docker; print where they are; run until Ctrl-C. Their data is removed then.",
    )
    parser.add_argument(
        "--brokers",
        type=int,
        choices=(1, 3),
        default=1,
        help="brokers of Kafka, 300 MB each; with 3, one may be lost (default: 1)",
    )
    parser.add_argument(
        "--postgres",
        type=int,
        metavar="VERSION",
        help="major version of PostgreSQL, such as 16 or 18 (default: the newest)",
    )
    return parser


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
