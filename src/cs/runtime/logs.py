"""Logging: one JSON object a line on standard error, or coloured text for a terminal.

Events are fixed snake_case names with fields; personal data is never among them.

A caller that logs goes on although the disk is full or the pipe is not read: no call fails and
the loop is not held up because a line cannot be written.  Such a line is lost, or cut off,
and the next one that can be written begins a new line and tells how many were.
"""

import logging
import os
import select
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TextIO

import structlog

from cs.domain.names.plain_text import escaped_controls
from cs.runtime.redaction import without_secrets


def configure(level: str = "info", style: str = "json", secrets: Sequence[str] = ()) -> None:
    """Set up structlog for the process; no line shows any of *secrets*."""
    renderers: list[structlog.typing.Processor] = (
        [structlog.processors.JSONRenderer()]  # escapes all but ASCII
        if style == "json"
        else [show_controls, structlog.dev.ConsoleRenderer()]
    )
    lines = LogWriter(sys.stderr)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            lines.tell_lost,
            *renderers,
            lambda _, __, line: without_secrets(str(line), secrets),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[level.upper()]
        ),
        logger_factory=lambda *_: lines,
        cache_logger_on_first_use=False,
    )


def show_controls(
    _: object, __: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Write out the control characters of *event*, which a terminal obeys (a processor)."""
    return {
        name: escaped_controls(value, keep="\n") if isinstance(value, str) else value
        for name, value in event.items()
    }


class LogWriter:
    """Writes to *file*, past its buffer if it has a descriptor; from any thread.

    A pipe that takes anything takes `select.PIPE_BUF` bytes (4,096) at once (pipe(7)), and
    lets a process that writes more wait for its reader.  So no more is written at a time.
    """

    def __init__(self, file: TextIO) -> None:
        self._write, self._ready = _unbuffered(file)
        self._lost = 0
        self._cut_off = False  # the last line, in its middle
        # A finalizer may log while the same thread logs.
        self._one_at_a_time = threading.RLock()

    def debug(self, line: str) -> None:
        with self._one_at_a_time:
            try:
                written = self._written(line)
            except (OSError, ValueError):  # ValueError: the file is closed
                written = False
            self._lost = 0 if written else self._lost + 1

    info = warning = error = critical = debug

    def tell_lost(
        self, _: object, __: str, event: structlog.typing.EventDict
    ) -> structlog.typing.EventDict:
        """Add to *event* how many lines before it were lost, if any (a processor)."""
        if self._lost:
            event["lines_lost"] = self._lost
        return event

    def _written(self, line: str) -> bool:
        """Write *line* as far as it is taken, and return whether that was all of it.

        Raises:
            OSError: The rest cannot be written.
            ValueError: The same, of a closed file.
        """
        data = line.encode(errors="backslashreplace") + b"\n"
        if self._cut_off:
            data = b"\n" + data
        while data:
            if not self._ready():
                return False
            data = data[self._write(data) :]
            self._cut_off = bool(data)
        return True


def _unbuffered(file: TextIO) -> tuple[Callable[[bytes], int], Callable[[], object]]:
    """Return what writes some bytes to *file*, and what says whether it takes more now.

    The first returns how many it wrote.
    """
    try:
        descriptor = file.fileno()
    except (OSError, ValueError):  # in memory
        return lambda data: file.write(data.decode()) and len(data), lambda: True
    ready = select.poll()
    ready.register(descriptor, select.POLLOUT)
    return (
        lambda data: os.write(descriptor, data[: select.PIPE_BUF]),
        lambda: ready.poll(0),
    )
