"""Runs the code of a plug-in so that whatever it does stays its own.

Each call is a task with a time limit.  What it raises becomes a `PluginFailed` with words that
may be logged; a call that does not end when it is cancelled is left behind, and neither its
stage nor the process waits for it.  What the plug-in prints or logs becomes a log line with
its name, without the secrets of its settings.
"""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any, TextIO, TypeVar

import msgspec
from structlog import get_logger

from cs.domain.cause import one_line, raised_at, without_people, wrong_type
from cs.plugins.plugin_settings import NO_SETTINGS, without_secrets
from cs.runtime.coordination import retrieve_exception
from cs.runtime.log_throttle import LogThrottle

log = get_logger()

T = TypeVar("T")
M = TypeVar("M", bound=msgspec.Struct)

#: How long a call that was cancelled may take to end before it is left behind.
GRACE_S = 1.0
#: Lines of output of one plug-in that are logged in a minute.
LINES_PER_MINUTE = 60

#: When, by the clock of the event loop, the attempt of a stage ends that calls plug-ins.
ATTEMPT_ENDS_AT: ContextVar[float | None] = ContextVar("attempt_ends_at", default=None)
_SPEAKER: ContextVar["Plugin | None"] = ContextVar("plugin", default=None)


class PluginFailed(Exception):
    """A plug-in gave no usable answer.

    Attributes:
        why: Fit for log and evidence: one line, no secret, no mailbox.
        at: Where it was raised, for the log.
    """

    def __init__(self, why: str, at: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.at = at


class PluginTimedOut(PluginFailed):
    """It did not answer within its time limit."""


class WrongAnswer(Exception):
    """The answer of a plug-in is not one it may give; the message names no person."""


class Plugin:
    """One plug-in in use.

    Args:
        kind: ``people source``, ``verifier`` and so on, for the log.
        name: Of its entry point.
        settings: Its own, whose secrets no log line and no answer shows.
    """

    def __init__(self, kind: str, name: str, settings: Mapping[str, Any] = NO_SETTINGS) -> None:
        self.kind = kind
        self.name = name
        self._settings = settings
        self._begun = ""
        self._throttle = LogThrottle(60.0, LINES_PER_MINUTE)

    def loggable(self, text: str) -> str:
        """Return *text* as it may be logged: one line, bounded, no secret, no mailbox."""
        return one_line(without_secrets(text, self._settings))

    def cause_of(self, error: BaseException) -> str:
        """Return why *error* was raised, as it may be logged."""
        try:
            words = str(error)
        except Exception:  # noqa: BLE001  the __str__ of foreign code
            words = ""
        if isinstance(error, WrongAnswer):
            return self.loggable(words)
        name = type(error).__name__
        return self.loggable(f"{name}: {words}" if words else name)

    async def call(self, ask: Callable[[], Awaitable[T]], limit_s: float | None = None) -> T:
        """Return what *ask* returns, within *limit_s* seconds.

        Raises:
            PluginFailed: It raised, or did not answer in time.
        """
        task = self.start(ask)
        await self.wait(task, limit_s)
        return task.result()

    def start(self, ask: Callable[[], Awaitable[T]]) -> "asyncio.Task[T]":
        """Start *ask* as a task that raises nothing but `PluginFailed`; see `wait`."""
        task = asyncio.create_task(self._run(ask))
        task.add_done_callback(retrieve_exception)  # or asyncio logs its words
        return task

    async def wait(
        self,
        task: "asyncio.Task[T]",
        limit_s: float | None,
        until: "asyncio.Future[Any] | None" = None,
    ) -> None:
        """Wait for *task*, or for *until* if that is done first.

        Raises:
            PluginFailed: Neither is done within *limit_s* seconds; the task is ended.
        """
        awaited: set[asyncio.Future[Any]] = {task} if until is None else {task, until}
        first = asyncio.FIRST_COMPLETED
        try:
            done, _ = await asyncio.wait(awaited, timeout=limit_s, return_when=first)
        except asyncio.CancelledError:
            await self.end(task)
            raise
        if not done:
            await self.end(task)
            raise PluginTimedOut(f"no answer within {limit_s:g} s")

    async def end(self, task: "asyncio.Task[Any]") -> None:
        """Cancel *task*; leave it behind if it does not end within `GRACE_S`."""
        task.cancel()
        await asyncio.wait({task}, timeout=GRACE_S)
        if not task.done():
            log.error("plugin_left_behind", kind=self.kind, plugin=self.name)
            # Nothing waits for it when the loop is closed, nor complains that it is pending.
            asyncio._unregister_task(task)  # noqa: SLF001  documented, "Extending asyncio"
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001

    async def _run(self, ask: Callable[[], Awaitable[T]]) -> T:
        _SPEAKER.set(self)  # in the context of its own task
        try:
            return await ask()
        except GeneratorExit:
            raise
        except BaseException as error:  # even SystemExit is only its own
            raise PluginFailed(self.cause_of(error), raised_at(error)) from error

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """Log what is printed or logged within as words of this plug-in."""
        token = _SPEAKER.set(self)
        try:
            yield
        finally:
            _SPEAKER.reset(token)

    def note_output(self, text: str) -> None:
        """Log the whole lines of what was printed so far; the rest waits for its end."""
        *lines, self._begun = (self._begun + text)[-10_000:].split("\n")
        for line in lines:
            self.note_line(line)

    def note_line(self, line: str, level: str = "info") -> None:
        """Log *line*, unless the plug-in said `LINES_PER_MINUTE` lines this minute."""
        if not line.strip() or self._throttle.allow() is None:
            return
        token = _SPEAKER.set(None)  # or a logger that prints would be heard, too
        try:
            text = without_people(self.loggable(line))
            log.info(
                "plugin_output", kind=self.kind, plugin=self.name, level_of_it=level, text=text
            )
        finally:
            _SPEAKER.reset(token)


def as_declared(answer: object, kind: type[M]) -> M:
    """Return *answer*, a *kind*, with every value in it of its declared type.

    A list becomes a tuple and a word the member of its enumeration, as when they are read
    from a message.

    Raises:
        WrongAnswer: It is no *kind*, or a value in it is of another type than declared; the
            message names the field and both types.
    """
    if not isinstance(answer, kind):
        raise WrongAnswer(f"it answered {type(answer).__name__}, not {kind.__name__}")
    try:
        return msgspec.convert(msgspec.to_builtins(answer, builtin_types=(datetime,)), kind)
    except msgspec.ValidationError as error:
        raise WrongAnswer(f"{kind.__name__}: {wrong_type(error)}") from None
    except TypeError as error:  # its words name a type, and no value
        raise WrongAnswer(f"{kind.__name__}: {error}") from None


@contextmanager
def captured_output() -> Iterator[None]:
    """Log what plug-ins print or log within, by name; others' output is as it was."""
    handler = _PluginRecords()
    streams = {name: _PluginStream(getattr(sys, name)) for name in ("stdout", "stderr")}
    for name, stream in streams.items():
        setattr(sys, name, stream)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        for name, stream in streams.items():
            if getattr(sys, name) is stream:
                setattr(sys, name, stream.stream)


class _PluginStream:
    """*stream*, except that what a plug-in writes becomes a log line."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        speaker = _SPEAKER.get()
        if speaker is None:
            return self.stream.write(text)
        speaker.note_output(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class _PluginRecords(logging.Handler):
    """Takes what plug-ins log; other records are handled as without it."""

    def emit(self, record: logging.LogRecord) -> None:
        speaker = _SPEAKER.get()
        if speaker is not None:
            speaker.note_line(record.getMessage(), record.levelname.lower())
            return
        handlers = logging.getLogger().handlers
        others = [each for each in handlers if not isinstance(each, type(self))]
        last = logging.lastResort
        if not others and last is not None and record.levelno >= last.level:
            last.handle(record)
