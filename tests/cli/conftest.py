import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import structlog

from cli.command import Here, Ran
from cs.cli import output
from cs.cli.app import build, main
from cs.sandbox.certificates import Authority


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Here]:
    """Run a command in this process; nothing of the environment is a setting."""
    for name in ("CS_CONFIG", "CS_URL", "CS_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: str, stdin: bytes = b"", width: int = 0, **more: str) -> Ran:
        """Run it with *more* in the environment, *width* wide if that is given."""
        capsys.readouterr()
        code: int | str | None = 0
        with monkeypatch.context() as during:
            during.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            for name, value in more.items():
                during.setenv(name, value)
            for console in (output.console, output.errors) if width else ():
                during.setattr(console, "_width", width)
            try:
                main(words)
            except SystemExit as end:
                code = end.code
        printed = capsys.readouterr()
        assert isinstance(code, int), printed
        return Ran(code, printed.out, printed.err)

    yield run
    structlog.reset_defaults()


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
    return Authority(tmp_path).ca_file


@pytest.fixture
def folder(tmp_path: Path, here: Here) -> Path:
    """A data folder with one key, labelled first."""
    folder = tmp_path / "data"
    assert (
        here("keys", "create", "--label=first", "--quota=7", f"--data-dir={folder}").code == 0
    )
    return folder
