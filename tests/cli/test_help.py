"""What a stranger is shown, and how soon."""

import re
import shutil
import subprocess
from importlib.metadata import version

import pytest

from cli.command import Here, started
from cs.domain.stages.table import OWN_STAGES
from harness.every_row import check_every
from harness.servers.missing import Missing

#: A row of a box of `--help`: the name of a command, and the line that says what it does.
ROW = re.compile(r"^│ ([a-z][a-z-]+)  +(\S.*?) *│$", re.MULTILINE)


def listed(here: Here, *words: str) -> list[str]:
    """Return the commands that the help of *words* lists, none if it is one itself."""
    shown = here(*words, "--help", width=160).out
    return [name for name, _ in ROW.findall(shown)] if "COMMAND" in shown else []


@pytest.fixture
def every_command(here: Here) -> list[list[str]]:
    found = []
    for name in listed(here):
        inner = listed(here, name)
        found += [[name, each] for each in inner] or [[name]]
    assert len(found) > 60
    return found


def test_the_help_of_every_command_has_an_example_and_its_exit_codes(
    here: Here, every_command: list[list[str]]
) -> None:
    def check(command: list[str]) -> None:
        shown = here(*command, "--help")

        assert shown.code == 0
        assert f"Usage: cs {' '.join(command)}" in shown.out
        example = shown.out.partition("Example")[2].partition("╭")[0]
        assert f"cs {' '.join(command)}" in example
        codes = " ".join(shown.out.split()).partition("Exit codes: ")[2].rstrip(".").split("; ")
        assert [int(code.split()[0]) for code in codes] >= [0, 1, 2]
        assert "130 ended by Ctrl-C" in codes

    check_every(every_command, check)


@pytest.mark.parametrize("command", ["search", "get", "usage"])
def test_commands_that_search_tell_how_a_limit_ends_them(here: Here, command: str) -> None:
    shown = " ".join(here(command, "--help", width=200).out.split())

    assert "4 refused by a limit; 5 out of quota" in shown


def test_a_mistyped_command_is_reported(here: Here) -> None:
    assert here("serv").error(2).startswith('Unknown command "serv". Did you mean "serve"?')


def test_the_version_is_reported() -> None:
    with started("--version") as process:
        out, _ = process.communicate(timeout=60)

    assert out.strip() == version("contact-search")


def test_a_mistake_on_the_command_line_ends_with_the_code_that_is_reported(
    here: Here, every_command: list[list[str]]
) -> None:
    def check(command: list[str]) -> None:
        assert here(*command, "--no-such-option").code == 2

    check_every(every_command, check)


COMPLETED = {
    "ke": {"keys"},
    "keys gr": {"grant"},
    "keys list --da": {"--data-dir"},
    "stage ver": {"verification"},
}


@pytest.mark.slow
def test_shells_complete_every_command(here: Here) -> None:
    scripts = {shell: here("completion", shell).out for shell in ("bash", "zsh", "fish")}
    assert all(name in script for name in listed(here) for script in scripts.values())
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
