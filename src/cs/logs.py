"""Logging: one JSON object a line on standard error, or coloured text for a terminal.

Events are fixed snake_case names with fields; personal data is never among them.

Whoever logs goes on although the disk is full or nobody reads the pipe: no call fails and
the loop is not held up because a line cannot be written.  Such a line is lost, and the next
one that can be written tells how many were.
"""

import logging
import os
import select
import sys
from collections.abc import Callable
from typing import TextIO

import structlog

#: A line at warning or above waits this long for a slow reader, once until one was written.
PATIENCE_MS = 100


def configure(level: str = "info", style: str = "json") -> None:
    """Set up structlog once for the process."""
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if style == "json"
        else structlog.dev.ConsoleRenderer()
    )
    lines = Lines(sys.stderr)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            lines.tell_lost,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[level.upper()]
        ),
        logger_factory=lambda *_: lines,
        cache_logger_on_first_use=False,
    )


class Lines:
    """Writes to *file*, past its buffer if it has a descriptor.

    A pipe that takes anything takes `select.PIPE_BUF` bytes (4,096) at least (pipe(7)), so
    only a longer line, such as a traceback, may wait for whoever reads.
    """

    def __init__(self, file: TextIO) -> None:
        self._write, self._ready = _unbuffered(file)
        self._lost = 0

    def debug(self, line: str) -> None:
        self._put(line, 0)

    info = debug

    def warning(self, line: str) -> None:
        self._put(line, 0 if self._lost else PATIENCE_MS)

    error = critical = warning

    def tell_lost(
        self, _: object, __: str, event: structlog.typing.EventDict
    ) -> structlog.typing.EventDict:
        """Add to *event* how many lines before it were lost, if any (a processor)."""
        if self._lost:
            event["lines_lost"] = self._lost
        return event

    def _put(self, line: str, patience_ms: int) -> None:
        try:
            if not self._ready(patience_ms):
                raise BlockingIOError
            self._write(line + "\n")
        except (OSError, ValueError):  # ValueError: the file is closed
            self._lost += 1
        else:
            self._lost = 0


def _unbuffered(file: TextIO) -> tuple[Callable[[str], object], Callable[[int], object]]:
    """Return what writes to *file*, and what waits some milliseconds until it takes more."""
    try:
        descriptor = file.fileno()
    except (OSError, ValueError):  # in memory
        return file.write, lambda _: True
    ready = select.poll()
    ready.register(descriptor, select.POLLOUT)
    return lambda line: os.write(descriptor, line.encode(errors="backslashreplace")), ready.poll
