"""What a stranger is shown, and how soon."""

import subprocess
import sys
from importlib.metadata import version

import pytest

from cli.command import Here, ran
from cs.cli.app import COMMANDS, build

GROUPS = {"keys", "brands", "people", "sandbox", "config", "log", "db", "topics"}


def every_command() -> list[list[str]]:
    app = build(["--help"])
    commands = [[name] for name, _, _ in COMMANDS if name not in GROUPS]
    for group in sorted(GROUPS):
        commands += [[group, name] for name in app[group] if not name.startswith("-")]
    return commands


def test_every_command_is_listed_with_a_line(here: Here) -> None:
    listed = here("--help").out

    for name, _, line in COMMANDS:
        assert any(name in row and line in row for row in listed.splitlines())


@pytest.mark.parametrize("command", every_command(), ids=" ".join)
def test_every_command_teaches_with_an_example(here: Here, command: list[str]) -> None:
    shown = here(*command, "--help")

    assert shown.code == 0
    assert f"Usage: cs {' '.join(command)}" in shown.out
    example = shown.out.partition("Example")[2].partition("╭")[0]
    assert f"cs {' '.join(command)}" in example


def test_a_mistyped_command_is_told(here: Here) -> None:
    assert here("serv").told(2).startswith('unknown command "serv". Did you mean "serve"?')


def test_the_version_is_told() -> None:
    assert ran("--version").out.strip() == version("contact-search")


def test_the_command_starts_without_loading_the_service() -> None:
    heavy = {"cs.wiring", "httpx", "dns", "cryptography", "asyncpg", "aiokafka"}
    code = (
        "import sys, cs.cli.app as cli; cli.build([]); "
        f"print(*sorted({heavy} & set(sys.modules)))"
    )

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert ended.stdout.split() == []
