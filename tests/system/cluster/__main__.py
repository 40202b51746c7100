"""`python -m system.cluster`: the distributed form of the service on one machine."""

import argparse
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from cs.cli.output import print_json
from harness.servers.missing import Missing
from harness.service_process import NotRunning
from system.cluster import show
from system.cluster.addresses import addresses, told
from system.cluster.cluster import Cluster, counted, running_cluster
from system.cluster.demo import demo
from system.cluster.health import Checkup
from system.cluster.supervising import Supervisor

#: Between two questions to every role: each costs it three of its own.
LOOK_S = 2.0


def main(words: Sequence[str] | None = None) -> int:
    """Return the exit code: 1 if it cannot run, or its world has ended."""
    arguments = _parser().parse_args(words)
    # Programs read what --json prints; what is told beside it is for people.
    console = Console(
        highlight=False, markup=False, emoji=False, soft_wrap=True, stderr=arguments.json
    )
    try:
        with _until_a_signal(console):
            return _run(arguments, console)
    except (Missing, NotRunning) as error:
        console.print(f"cluster: {error}")
        return 1
    except KeyboardInterrupt:
        console.print("ended; nothing is left behind")
    return 0


def _run(arguments: argparse.Namespace, console: Console) -> int:
    began = time.monotonic()
    brokers, each = arguments.brokers, arguments.each

    def tell(step: str) -> None:
        console.print(f"{time.monotonic() - began:6.1f} s  {step}")

    console.print(
        f"The distributed form on this machine: PostgreSQL, {counted(brokers, 'broker')} of"
        f" Kafka, {each} of every role, a sandbox world.\n"
        "Kafka's jars are downloaded once (45 MB), to ~/.cache/contact-search.",
    )
    if arguments.command == "demo":
        return demo(console, tell, brokers=brokers, each=each)
    with running_cluster(brokers=brokers, each=each, world=arguments.world, tell=tell) as made:
        key = made.new_key()["key"]
        if arguments.json:
            print_json(addresses(made, key))
        console.print(f"\n{told(made, key)}")
        console.print("Ctrl-C ends all of it and leaves nothing behind.\n")
        return _stay(made, console)


def _stay(cluster: Cluster, console: Console) -> int:
    """Show and look after *cluster* until a signal, or until its world ends."""
    seen: list[show.Row] = []
    supervisor = Supervisor(cluster.roles, console.print)
    with Checkup(cluster) as checkup:
        while cluster.world.runs:
            supervisor.look()
            rows = show.rows(cluster, checkup.ask(cluster.roles))
            for change in show.changes(seen, rows):
                console.print(change)
            seen = rows
            threading.Event().wait(LOOK_S)
    console.print("the world has ended, and with it what every role was told of it")
    return 1


@contextmanager
def _until_a_signal(console: Console) -> Iterator[None]:
    """Raise KeyboardInterrupt here at the first signal that ends; later ones change nothing."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def first(*_: object) -> None:
        for number in numbers:
            signal.signal(number, lambda *_: None)
        console.print("\nending…")
        raise KeyboardInterrupt

    before: dict[signal.Signals, Callable[..., object] | int | None] = {
        number: signal.signal(number, first) for number in numbers
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m system.cluster",
        description="The service over many processes on this machine: nothing is installed.",
    )
    parser.set_defaults(json=False)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="start everything, show it, stay until Ctrl-C")
    run.add_argument("--json", action="store_true", help="print the addresses as JSON")
    run.add_argument("--world", type=Path, metavar="FILE", help="a world file of your own")
    shown = commands.add_parser(
        "demo", help="a search that outlives its worker; ends by itself"
    )
    for each in (run, shown):
        each.add_argument("--brokers", type=int, choices=(1, 3), default=3)
        each.add_argument("--each", type=int, choices=range(1, 6), default=2, metavar="1-5")
    return parser


if __name__ == "__main__":
    sys.exit(main())
