"""The modules that a command loads before it does anything, and that its user waits for."""

import subprocess
import sys

import pytest

from cli.command import environment

pytestmark = pytest.mark.slow  # a process for each command

#: Of other packages: each takes longer to load than all that `cs --help` needs of ours.
HEAVY = {
    "aiokafka",
    "asyncio",
    "asyncpg",
    "cryptography",
    "dns",
    "eventsourcing",
    "httpx",
    "sqlite3",
    "ssl",
    "starlette",
    "structlog",
    "uvicorn",
}


def loaded_by(code: str) -> set[str]:
    """Return the modules of a Python that has run *code*."""
    ended = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint('loaded:', *sys.modules)"],
        capture_output=True,
        check=True,
        text=True,
        env=environment(),
    )
    return set(ended.stdout.partition("loaded: ")[2].split())


def loaded_by_command(*words: str) -> set[str]:
    return loaded_by(
        "import cs.__main__ as command\n"
        f"try: command.main({list(words)!r})\n"
        "except SystemExit: pass"
    )


def ours(loaded: set[str]) -> set[str]:
    """Return the packages of ours among *loaded*."""
    return {name.split(".")[1] for name in loaded if name.startswith("cs.")}


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_help_loads_nothing_of_the_service(word: str) -> None:
    loaded = loaded_by_command(word)

    assert ours(loaded) == {"__main__", "cli"}
    assert loaded & HEAVY == set()


@pytest.mark.parametrize("words", [["search", "Acme"], ["get", "srch_1"], ["usage"]])
def test_a_command_that_calls_a_service_loads_nothing_of_one(words: list[str]) -> None:
    loaded = loaded_by_command(*words)

    assert ours(loaded) == {"__main__", "cli", "client", "domain", "runtime"}
    assert loaded & HEAVY == {"asyncio", "httpx", "ssl"}


def test_a_live_service_in_one_process_loads_no_sandbox_and_no_server_parts() -> None:
    loaded = loaded_by("import cs.cli.serve")

    assert not [name for name in loaded if name.startswith("cs.sandbox.")]
    assert loaded & {"aiokafka", "asyncpg", "cryptography.x509"} == set()
