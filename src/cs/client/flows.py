"""Every conversation with the service, without any I/O: `cs.client` has two that do it.

A flow yields what is to be done next (send a call, let time go by) and is sent what came
of it; its return value is the answer.  So retries, waiting and pacing are written once.
"""

from collections.abc import Callable, Generator
from itertools import count
from typing import TypeAlias, TypeVar

import msgspec

from cs.client.api import TIMEOUT_S, USAGE, Call, Query, contacts_call, search_call
from cs.client.errors import ClientError, StillRunning
from cs.client.judging import NoReply, Reply, judge, limits_of
from cs.client.limits import Limits
from cs.client.patience import Patience, pause_before_next, proves_nothing
from cs.client.records import Running, Search, Usage

T = TypeVar("T")

#: A held call that was cut after so long met a proxy with less patience than the hold.
HOLD_CUT_S = 25.0
#: A service knows an idempotency key for 24 hours (CONTRACT.md L14); one hour to spare.
KNOWN_S = 23 * 3600.0


class Send(msgspec.Struct, frozen=True):
    """Make *call*, and answer with its reply."""

    call: Call


class Pause(msgspec.Struct, frozen=True):
    """Let time go by; with 0 s, only tell the time."""

    seconds: float


class Begun(msgspec.Struct, frozen=True):
    """*search* is known and runs: from here on it can be found again by its id."""

    search: Running


class Heard(msgspec.Struct, frozen=True):
    """What came of the last step.  Times are of one monotonic clock, in seconds."""

    began: float
    at: float
    reply: Reply | NoReply | None = None


Flow: TypeAlias = Generator[Send | Pause | Begun, Heard, T]


class Flows:
    """Makes flows.

    Args:
        patience: How long a call that came to nothing is tried again.
        chance: A number from 0 up to 1, another each time.
        new_key: An idempotency key that nobody had before.
        where: Whom errors are about.
    """

    def __init__(
        self,
        patience: Patience,
        chance: Callable[[], float],
        new_key: Callable[[], str],
        where: str,
    ) -> None:
        self._where = where
        self._patience = patience
        self._chance = chance
        self._new_key = new_key
        #: What the last answer that named any said of the key's limits.
        self.limits: Limits | None = None

    def start(self, query: Query) -> Flow[Search]:
        """Start *query* and return it as it is at once: ended from reuse, or running."""
        return self._found(contacts_call(self._named(query), wait=False))

    def get(self, search: str) -> Flow[Search]:
        return self._found(search_call(search))

    def usage(self) -> Flow[Usage]:
        found = yield from self._answered(USAGE)
        assert isinstance(found, Usage), "judged by what the call is answered with"
        return found

    def search(self, query: Query, timeout_s: float | None) -> Flow[Search]:
        """Start *query* and return how it ended; held by the server if there is time.

        Raises:
            StillRunning: It has not, *timeout_s* after it was asked for.
        """
        until = yield from _in(timeout_s)
        search = yield from self._found(contacts_call(self._named(query), wait=True), until)
        return (yield from self._ended(search, until))

    def wait(self, search: Search, timeout_s: float | None) -> Flow[Search]:
        """Return how *search* ended; raises what `search` raises."""
        until = yield from _in(timeout_s)
        return (yield from self._ended(search, until))

    def follow(self, query: Query, timeout_s: float | None) -> Flow[Search]:
        """Return how *query* ended, never held, so that others can be asked meanwhile."""
        until = yield from _in(timeout_s)
        if query.search:
            search = yield from self._found(search_call(query.search), until)
        else:
            call = contacts_call(self._named(query), wait=False)
            search = yield from self._found(call, until)
        return (yield from self._ended(search, until))

    def _named(self, query: Query) -> Query:
        if query.idempotency_key:
            return query
        return msgspec.structs.replace(query, idempotency_key=self._new_key())

    def _ended(self, search: Search, until: float | None) -> Flow[Search]:
        """Ask for *search* at the pace the server wants until it has ended."""
        if isinstance(search, Running):
            yield Begun(search)
        try:
            while isinstance(search, Running):
                pause = float(max(1, search.retry_after, self._checks_full_for_s()))
                now = (yield Pause(0)).at
                if until is not None:
                    if now >= until:
                        raise StillRunning(f"{search.id} is still running", code="running")
                    pause = min(pause, until - now)
                yield Pause(pause)
                search = yield from self._found(search_call(search.id), until)
        except ClientError as error:
            error.search = search
            raise
        return search

    def _checks_full_for_s(self) -> int:
        checks = self.limits.windows.get("checks") if self.limits else None
        full = checks is not None and checks.remaining == 0
        return (checks.reset_s or 0) if checks is not None and full else 0

    def _found(self, call: Call, until: float | None = None) -> Flow[Search]:
        found = yield from self._answered(call, until)
        assert not isinstance(found, Usage), "judged by what the call is answered with"
        return found

    def _answered(self, call: Call, until: float | None = None) -> Flow[Search | Usage]:
        """Make *call* until it is answered, refused for good, or patience is at its end.

        Raises:
            ClientError: What the last try ended with.
        """
        began: float | None = None
        unadvised, doubtful = 0, False
        for _ in count():
            if until is not None:
                call = _in_time(call, until - (yield Pause(0)).at)
            heard = yield Send(call)
            assert heard.reply is not None, "what is sent is answered"
            began = heard.began if began is None else began
            self.limits = limits_of(heard.reply) or self.limits
            try:
                return judge(call, heard.reply, self._where)
            except ClientError as error:
                unadvised += error.retry_after_s is None
                doubtful = doubtful or (call.method == "POST" and proves_nothing(error))
                error.in_doubt = doubtful
                spent_s = heard.at - began
                pause = pause_before_next(
                    error,
                    self._patience,
                    tried=unadvised,
                    spent_s=spent_s,
                    chance=self._chance(),
                )
                late = until is not None and pause is not None and heard.at + pause >= until
                if pause is None or late:
                    raise
                if doubtful and spent_s + pause >= KNOWN_S:
                    raise  # the service may have forgotten the key, and would charge again
            if heard.at - heard.began >= HOLD_CUT_S:
                call = _not_held(call)
            yield Pause(pause)
        raise AssertionError("counts for ever")


def _in(timeout_s: float | None) -> Flow[float | None]:
    """Return the time that it is *timeout_s* from now."""
    if timeout_s is None:
        return None
    return (yield Pause(0)).at + timeout_s


def _in_time(call: Call, left_s: float) -> Call:
    """Return *call* as one that can be answered in *left_s*."""
    if call.timeout_s <= left_s:
        return call
    short = _not_held(call) if call.timeout_s == TIMEOUT_S else call
    return msgspec.structs.replace(short, timeout_s=max(1.0, min(short.timeout_s, left_s)))


def _not_held(call: Call) -> Call:
    """Return *call* as one that is answered at once: the same wish, and the same key."""
    if call.method == "GET":
        return call
    body = msgspec.json.decode(call.body, type=dict[str, str | bool])
    query = Query(
        brand=_text(body.get("brand")),
        domain=_text(body.get("domain")),
        idempotency_key=call.idempotency_key,
    )
    return contacts_call(query, wait=False)


def _text(value: str | bool | None) -> str | None:
    return value if isinstance(value, str) else None
