"""Every conversation with the service, without any I/O: two clients in `cs.client` do that.

A flow yields what is to be done next (send a call, let time go by) and is sent what came
of it; its return value is the answer.  Retries, waiting and pacing are written once.
"""

import uuid
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import msgspec

from cs.client.calls import (
    TIMEOUT_S,
    USAGE,
    WAIT_S,
    Call,
    NoReply,
    Query,
    Reply,
    contacts_call,
    limits_of,
    read_reply,
    search_call,
)
from cs.client.errors import ClientError, StillRunning, TooLate
from cs.client.limits import Limits
from cs.client.records import Running, Search, Usage
from cs.client.retries import CallRetries, Patience

T = TypeVar("T")

#: A held call that was cut after so long met a proxy with less patience than the hold.
HOLD_CUT_S = 25.0


class Send(msgspec.Struct, frozen=True):
    """Make *call*, and answer with its reply."""

    call: Call


class WaitFor(msgspec.Struct, frozen=True):
    """Let time go by; with 0 s, only return the time."""

    seconds: float


class StepResult(msgspec.Struct, frozen=True):
    """The result of the last step.  Times are of one monotonic clock, in seconds."""

    began: float
    at: float
    reply: Reply | NoReply | None = None


Flow: TypeAlias = Generator[Send | WaitFor, StepResult, T]


class Flows:
    """Makes flows.

    Args:
        patience: How long a call that came to nothing is tried again.
        where: The address that errors name.
        wall: The time of day in seconds, which goes on while the machine is suspended.

    Attributes:
        limits: The key's limits, as the last answer that named any stated them.
    """

    def __init__(self, patience: Patience, where: str, wall: Callable[[], float]) -> None:
        self.patience = patience
        self._where = where
        self._wall = wall
        self.limits: Limits | None = None

    def start(self, query: Query) -> Flow[Search]:
        """Start *query* and return it as it is at once: ended from reuse, or running."""
        return self._searched(contacts_call(self._with_key(query), wait=False))

    def get(self, search: str) -> Flow[Search]:
        return self._searched(search_call(search))

    def usage(self) -> Flow[Usage]:
        found = yield from self._retried(USAGE)
        assert isinstance(found, Usage), "read as what the call is answered with"
        return found

    def search(self, query: Query, timeout_s: float | None) -> Flow[Search]:
        """Start *query* and return how it ended; held by the server if there is time.

        Raises:
            StillRunning: It has not, *timeout_s* after it was asked for.  Without one,
                `WAIT_S`, to which is added what patience waits before a call is repeated.
        """
        end = yield from _end_in(timeout_s)
        search = yield from self._searched(contacts_call(self._with_key(query), wait=True), end)
        return (yield from self._until_ended(search, end))

    def wait(self, search: Search, timeout_s: float | None) -> Flow[Search]:
        """Return how *search* ended; raises what `search` raises."""
        end = yield from _end_in(timeout_s)
        return (yield from self._until_ended(search, end))

    def follow(
        self, query: Query, timeout_s: float | None, started: Callable[[Running], None]
    ) -> Flow[Search]:
        """Return how *query* ended, never held, so that others can be asked meanwhile.

        *started* is called if it runs: from then on it can be found again by its id.
        """
        end = yield from _end_in(timeout_s)
        if query.search:
            search = yield from self._searched(search_call(query.search), end)
        else:
            call = contacts_call(self._with_key(query), wait=False)
            search = yield from self._searched(call, end)
        if isinstance(search, Running):
            started(search)
        return (yield from self._until_ended(search, end))

    def _with_key(self, query: Query) -> Query:
        if query.idempotency_key:
            return query
        return msgspec.structs.replace(query, idempotency_key=str(uuid.uuid4()))

    def _until_ended(self, search: Search, end: "_End") -> Flow[Search]:
        """Ask for *search* at the pace the server wants until it has ended."""
        try:
            while isinstance(search, Running):
                pause = float(max(1, search.retry_after, self._checks_full_for_s()))
                now = (yield WaitFor(0)).at
                if now >= end.at:
                    raise StillRunning(f"{search.id} is still running", code="running")
                yield WaitFor(min(pause, end.at - now))
                search = yield from self._searched(search_call(search.id), end)
        except ClientError as error:
            error.search = search
            raise
        return search

    def _checks_full_for_s(self) -> int:
        checks = self.limits.windows.get("checks") if self.limits else None
        full = checks is not None and checks.remaining == 0
        return (checks.reset_s or 0) if checks is not None and full else 0

    def _searched(self, call: Call, end: "_End | None" = None) -> Flow[Search]:
        found = yield from self._retried(call, end)
        assert not isinstance(found, Usage), "read as what the call is answered with"
        return found

    def _retried(self, call: Call, end: "_End | None" = None) -> Flow[Search | Usage]:
        """Make *call* until it is answered, refused for good, or patience is at its end.

        Raises:
            ClientError: The error of the last try.
            TooLate: There was none, as it may charge again what was asked for before.
        """
        began: float | None = None
        retries = CallRetries(self.patience, self._wall, call)
        if retries.may_charge_again():
            raise TooLate
        while True:
            if end is not None:
                call = _within(call, end.at - (yield WaitFor(0)).at)
            result = yield Send(call)
            assert result.reply is not None, "a call that is sent has a reply"
            began = result.began if began is None else began
            self.limits = limits_of(result.reply) or self.limits
            try:
                return read_reply(call, result.reply, self._where)
            except ClientError as error:
                spent_s = result.at - began
                pause = retries.pause_after(error, spent_s=spent_s)
                if pause is None or (end is not None and end.comes_before(result.at + pause)):
                    raise
                rested = yield WaitFor(pause)
                if retries.may_charge_again(rested.at - began):
                    raise  # the pause was longer than it was to be
            if end is not None:
                end.extend(rested.at - result.at)
            if result.at - result.began >= HOLD_CUT_S:
                call = _without_wait(call)


@dataclass
class _End:
    """When a search is followed no further, on the clock of `StepResult`.

    Attributes:
        fixed: Whether it stays, however long patience waits before a call is repeated.
    """

    at: float
    fixed: bool

    def comes_before(self, at: float) -> bool:
        return self.fixed and at >= self.at

    def extend(self, waited_s: float) -> None:
        if not self.fixed:
            self.at += waited_s


def _end_in(timeout_s: float | None) -> Flow[_End]:
    """Return the end that is *timeout_s* from now."""
    now = (yield WaitFor(0)).at
    return _End(now + (WAIT_S if timeout_s is None else timeout_s), timeout_s is not None)


def _within(call: Call, left_s: float) -> Call:
    """Return *call* as one that can be answered in *left_s*."""
    if call.timeout_s <= left_s:
        return call
    short = _without_wait(call) if call.timeout_s == TIMEOUT_S else call
    return msgspec.structs.replace(short, timeout_s=max(1.0, min(short.timeout_s, left_s)))


def _without_wait(call: Call) -> Call:
    """Return *call* as one that is answered at once: the same search, and the same key."""
    return call if call.query is None else contacts_call(call.query, wait=False)
