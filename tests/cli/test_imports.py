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


def loaded_by(code: str) -> tuple[set[str], set[str]]:
    """Return the packages of ours, and of others, that a Python has loaded that ran *code*."""
    ended = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint('loaded:', *sys.modules)"],
        capture_output=True,
        check=True,
        text=True,
        env=environment(),
    )
    loaded = set(ended.stdout.partition("loaded: ")[2].split())
    return {name.split(".")[1] for name in loaded if name.startswith("cs.")}, loaded


@pytest.mark.parametrize(
    ("words", "ours", "heavy"),
    [
        (["--help"], {"__main__", "cli"}, set()),
        (
            ["search", "Acme"],
            {"__main__", "cli", "client", "domain", "runtime"},
            {"asyncio", "httpx", "ssl"},
        ),
    ],
)
def test_a_command_loads_nothing_of_the_service(
    words: list[str], ours: set[str], heavy: set[str]
) -> None:
    packages, loaded = loaded_by(
        f"import cs.__main__ as command\ntry: command.main({words!r})\nexcept SystemExit: pass"
    )

    assert packages == ours
    assert loaded & HEAVY == heavy


def test_a_live_service_in_one_process_loads_no_sandbox_and_no_server_parts() -> None:
    _, loaded = loaded_by("import cs.cli.serve")

    assert not [name for name in loaded if name.startswith("cs.sandbox.")]
    assert loaded & {"aiokafka", "asyncpg", "cryptography.x509"} == set()
