"""What a stranger is shown, and how soon."""

import shutil
import subprocess
from importlib.metadata import version

import pytest

from cli.command import Here, started
from cs.cli.app import COMMANDS, build, codes_of
from cs.domain.stages.table import OWN_STAGES
from harness.every_row import check_every
from harness.servers.missing import Missing

GROUPS = {
    *("keys", "master-key", "brands", "people", "sandbox", "config", "events", "log", "db"),
    *("topics", "searches", "replay", "new", "people-source", "sources", "verifiers"),
    *("mailboxes", "directory"),
}


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


def test_every_command_teaches_with_an_example_and_tells_its_exit_codes(here: Here) -> None:
    def check(command: list[str]) -> None:
        shown = here(*command, "--help")

        assert shown.code == 0
        assert f"Usage: cs {' '.join(command)}" in shown.out
        example = shown.out.partition("Example")[2].partition("╭")[0]
        assert f"cs {' '.join(command)}" in example
        message = " ".join(shown.out.split()).partition("Exit codes: ")[2].rstrip(".")
        codes = codes_of(command[0])
        assert message.split("; ") == [f"{code} {what}" for code, what in codes.items()]
        assert {0, 1, 2, 130} <= codes.keys()

    check_every(every_command(), check)


def test_a_mistyped_command_is_reported(here: Here) -> None:
    assert here("serv").error(2).startswith('Unknown command "serv". Did you mean "serve"?')


def test_the_version_is_reported() -> None:
    with started("--version") as process:
        out, _ = process.communicate(timeout=60)

    assert out.strip() == version("contact-search")


def test_a_mistake_on_the_command_line_ends_with_the_code_that_is_reported(here: Here) -> None:
    def check(command: list[str]) -> None:
        assert here(*command, "--no-such-option").code == 2

    check_every(every_command(), check)


COMPLETED = {
    "ke": {"keys"},
    "keys gr": {"grant"},
    "keys list --da": {"--data-dir"},
    "stage ver": {"verification"},
}


@pytest.mark.slow
def test_shells_complete_every_command(here: Here) -> None:
    scripts = {shell: here("completion", shell).out for shell in ("bash", "zsh", "fish")}
    assert all(name in script for name, _, _ in COMMANDS for script in scripts.values())
    if shutil.which("bash") is None:
        raise Missing("bash: completion was not tried in it")

    for typed, offered in COMPLETED.items():
        words = ["cs", *typed.split()]
        typing = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}"
        ask = f"{scripts['bash']}\n{typing}; _cs; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        ended = subprocess.run(["bash", "-c", ask], check=True, capture_output=True, text=True)
        assert set(ended.stdout.split()) == offered, (typed, ended)


def test_a_wrong_or_missing_stage_is_answered_with_those_there_are(here: Here) -> None:
    stages = ", ".join(f'"{name}"' for name in OWN_STAGES)

    assert (
        here("stage", "rank")
        .error(2)
        .startswith(f'Invalid value "rank" for NAME. Choose from: {stages}')
    )
    assert "NAME requires an argument" in here("stage").error(2)
