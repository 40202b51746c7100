"""A log that cannot be written holds nobody up, and tells what it could not say."""

import os
import select
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

import msgspec
import pytest
import structlog

from cs.runtime import logs
from harness.full_disk import no_file_larger

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


@pytest.mark.parametrize("style", ["json", "console"])
def test_a_secret_is_in_no_line_however_it_is_written(
    capsys: pytest.CaptureFixture[str], style: str
) -> None:
    secret = 'hunter "two"/\N{SNOWMAN}'
    logs.configure("warning", style, [secret])
    log.warning("told", why=secret, host="db.internal", exc_info=ValueError(secret))
    structlog.reset_defaults()

    line = capsys.readouterr().err
    assert "db.internal" in line
    assert "hunter" not in line


def test_a_closed_standard_error_raises_nothing(
    log_to: Logging, pipe: tuple[BinaryIO, TextIO]
) -> None:
    log_to(pipe[1])
    pipe[1].close()

    log.info("lost")


def test_an_unread_pipe_blocks_nothing_and_the_loss_is_reported(
    log_to: Logging, pipe: tuple[BinaryIO, TextIO]
) -> None:
    log_to(pipe[1])
    for n in range(2000):  # more than any pipe here holds
        log.info("call", n=n, padding="x" * 200)
    before = events(pipe[0].read(1 << 20))

    log.info("call", n=2000)
    log.info("call", n=2001)

    after = events(pipe[0].read(1 << 20))
    assert [line["n"] for line in before] == list(range(len(before)))
    assert 0 < len(before) < 2000
    assert after[0]["lines_lost"] == 2000 - len(before)
    assert [line["n"] for line in after] == [2000, 2001]
    assert "lines_lost" not in after[1]


def fill(file: TextIO) -> None:
    """Fill the pipe that *file* writes to."""
    descriptor = file.fileno()
    os.set_blocking(descriptor, False)
    try:
        while True:
            os.write(descriptor, b"." * select.PIPE_BUF)
    except BlockingIOError:
        os.set_blocking(descriptor, True)


def test_a_line_longer_than_a_pipe_takes_is_cut_off_and_the_next_begins_again(
    log_to: Logging, pipe: tuple[BinaryIO, TextIO]
) -> None:
    """With room for its beginning alone a write in one would wait for ever."""
    log_to(pipe[1])
    fill(pipe[1])
    pipe[0].read(select.PIPE_BUF)
    room_for_one = threading.Thread(
        target=log.error, args=("cut",), kwargs={"why": "x" * 9000}, daemon=True
    )
    room_for_one.start()
    room_for_one.join(timeout=20)
    assert not room_for_one.is_alive()

    began = pipe[0].read(1 << 20).lstrip(b".")
    log.info("next")

    assert len(began) == select.PIPE_BUF
    assert began.startswith(b'{"')
    end, line = pipe[0].read(1 << 20).split(b"\n", 1)
    assert not end
    (told,) = events(line)
    assert (told["event"], told["lines_lost"]) == ("next", 1)


def test_a_disk_that_fills_up_within_a_line_has_lost_it(
    log_to: Logging, tmp_path: Path
) -> None:
    path = tmp_path / "log"
    with path.open("w") as file:
        log_to(file)
        log.info("first")
        with no_file_larger(path.stat().st_size + 10):
            log.info("cut")
            log.info("lost")
        log.info("after")
        log.info("last")

    first, cut, *rest = path.read_bytes().splitlines(keepends=True)
    assert len(cut) == 11
    after, last = events(b"".join(rest))
    assert events(first)[0]["event"] == "first"
    assert (after["event"], after["lines_lost"]) == ("after", 2)
    assert (last["event"], "lines_lost" in last) == ("last", False)
