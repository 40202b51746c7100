"""A log that cannot be written holds nobody up, and tells what it could not say."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

import msgspec
import pytest
import structlog

from cs import logs

log = structlog.get_logger()

Logging = Callable[[TextIO], None]


@pytest.fixture
def log_to(monkeypatch: pytest.MonkeyPatch) -> Iterator[Logging]:
    """Make a file standard error, and log to it until the test ends."""

    def to(file: TextIO) -> None:
        monkeypatch.setattr(sys, "stderr", file)
        logs.configure()

    yield to
    structlog.reset_defaults()


@pytest.fixture
def pipe() -> Iterator[tuple[BinaryIO, TextIO]]:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb", 0) as read, os.fdopen(writer, "w") as write:
        yield read, write


def events(lines: bytes) -> list[dict[str, object]]:
    return [msgspec.json.decode(line) for line in lines.splitlines()]


def test_a_line_is_one_object_with_its_fields(log_to: Logging, tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as file:
        log_to(file)

        log.info("search_admitted", search="srch_1")
        log.debug("too_low")

    (line,) = events((tmp_path / "log").read_bytes())
    assert (line["event"], line["level"], line["search"]) == (
        "search_admitted",
        "info",
        "srch_1",
    )
    assert "lines_lost" not in line


def test_a_full_disk_fails_nobody(log_to: Logging) -> None:
    with Path("/dev/full").open("w") as file:
        log_to(file)

        log.info("lost")
        log.error("lost", exc_info=ValueError("with a traceback"))


def test_a_pipe_whose_reader_has_gone_fails_nobody(
    log_to: Logging, pipe: tuple[BinaryIO, TextIO]
) -> None:
    log_to(pipe[1])
    pipe[0].close()

    log.info("lost")
    log.critical("lost")


def test_a_closed_standard_error_fails_nobody(
    log_to: Logging, pipe: tuple[BinaryIO, TextIO]
) -> None:
    log_to(pipe[1])
    pipe[1].close()

    log.info("lost")


def test_a_pipe_that_nobody_reads_holds_nobody_up_and_the_loss_is_told(
    log_to: Logging, pipe: tuple[BinaryIO, TextIO]
) -> None:
    log_to(pipe[1])
    for n in range(2000):  # more than any pipe here holds
        log.info("call", n=n, padding="x" * 200)
    log.error("waited_for")
    before = events(pipe[0].read(1 << 20))

    log.info("call", n=2000)
    log.info("call", n=2001)

    after = events(pipe[0].read(1 << 20))
    assert [line["n"] for line in before] == list(range(len(before)))
    assert 0 < len(before) < 2000
    assert after[0]["lines_lost"] == 2000 - len(before) + 1
    assert [line["n"] for line in after] == [2000, 2001]
    assert "lines_lost" not in after[1]


def test_a_file_without_a_descriptor_is_written_to(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("warning", "console")
    log.warning("told", why="it matters")
    structlog.reset_defaults()

    assert "it matters" in capsys.readouterr().err
