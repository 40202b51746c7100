from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from cli.command import Here
from cs.cli.app import build
from harness.clients import certificates


@pytest.fixture(scope="session")
def bound_to() -> Callable[[Sequence[str]], list[str]]:
    """Parse a command line; return the words it takes as values, or raise what is wrong."""

    def parse(words: Sequence[str]) -> list[str]:
        _, bound, *_ = build(words).parse_args(words, print_error=False, exit_on_error=False)
        return [str(word) for word in bound.args]

    return parse


@pytest.fixture
def ca_file(tmp_path: Path) -> Path:
    """The certificate of an authority that was made just now."""
    return certificates(tmp_path).ca_file


@pytest.fixture
def folder(tmp_path: Path, here: Here) -> Path:
    """A data folder with one key, labelled first."""
    folder = tmp_path / "data"
    assert (
        here("keys", "create", "--label=first", "--quota=7", f"--data-dir={folder}").code == 0
    )
    return folder
