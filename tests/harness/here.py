"""A pytest plug-in: the fixture ``here``, which runs `cs` in the test's own process."""

import io
from collections.abc import Iterator

import pytest
import structlog

from cli.command import Here, Ran


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Here]:
    """Run a command in this process; nothing of the environment is a setting."""
    from cs.cli import output  # noqa: PLC0415  most runs of tests run no command here
    from cs.cli.app import main  # noqa: PLC0415

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
