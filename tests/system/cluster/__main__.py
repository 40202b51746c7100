"""`python -m system.cluster`: the distributed form of the service on one machine."""

import argparse
import json
import shlex
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
from system.cluster.cluster import Cluster, counted, running_cluster
from system.cluster.demo import demo

#: The brand of the bundled world that the line to try searches for.
BRAND = "Veltrana"
#: Interval at which ended roles are looked for.
LOOK_S = 1.0


def main(words: Sequence[str] | None = None) -> int:
    """Return the exit code: 1 if it cannot run, or its world has ended."""
    arguments = _parser().parse_args(words)
    # With --json standard output is for programs, and progress goes to standard error.
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
    with running_cluster(
        brokers=brokers, each=each, world=arguments.world, tell=tell
    ) as cluster:
        key = cluster.new_key()["key"]
        if arguments.json:
            print_json(_addresses(cluster, key))
        console.print(_instructions(cluster, key))
        while cluster.world.runs:
            cluster.start_ended(tell)
            threading.Event().wait(LOOK_S)
    console.print("the sandbox world has ended, which every role needs")
    return 1


def _addresses(cluster: Cluster, key: str) -> dict[str, object]:
    """Return every address of *cluster*, and the secret *key*, for a program."""
    return {
        "urls": cluster.urls,
        "admin": cluster.admin_url,
        "key": key,
        "readyz": {
            name: f"http://127.0.0.1:{port}/readyz"
            for name, port in cluster.admin_ports.items()
        },
        "environment": _operator_settings(cluster),
        "folder": str(cluster.folder),
        "pids": {name: role.pid for name, role in cluster.roles.items()},
    }


def _instructions(cluster: Cluster, key: str) -> str:
    """Return the addresses of *cluster* and how to call it, for a person."""
    file = cluster.folder / "operator.env"
    settings = _operator_settings(cluster).items()
    file.write_text("".join(f"export {k}={shlex.quote(v)}\n" for k, v in settings))
    body = shlex.quote(json.dumps({"brand": BRAND, "wait": True}))
    others = "".join(f"     {url}\n" for url in cluster.urls[1:])
    processes = "".join(f"  {role.pid:7} {name}\n" for name, role in cluster.roles.items())
    return (
        f"\nURL  {cluster.urls[0]}\n{others}Key  {key}\n"
        f"Health, clock of the sandbox  {cluster.admin_url}/readyz, /sandbox/clock\n"
        f"Log lines of each process  {cluster.folder}/*.log\n\n"
        f"curl -s {cluster.urls[0]}/contacts -H 'Authorization: Bearer {key}' \\\n"
        f"  -H 'Content-Type: application/json' -d {body}\n\n"
        f"For the operator's commands, in another terminal:  . {file}\n"
        "  .venv/bin/cs keys list; .venv/bin/cs brands list; .venv/bin/cs log verify\n\n"
        f"Processes; a role that is killed is started again:\n{processes}\n"
        "Ctrl-C ends all of it and leaves nothing behind.\n"
    )


def _operator_settings(cluster: Cluster) -> dict[str, str]:
    return {k: v for k, v in cluster.environment.items() if k.startswith("CS_")}


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
    run = commands.add_parser("run", help="start everything and stay until Ctrl-C")
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
