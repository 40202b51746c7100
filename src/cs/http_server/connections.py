"""Callers' connections: how long a head may take, what is refused, which call is answered."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias
from urllib.parse import unquote

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.server import ServerState

from cs.api.errors import ApiError
from cs.http_server.answering import Answering
from cs.http_server.connection_limit import ConnectionLimit
from cs.http_server.request_reader import Head, Malformed, RequestReader

#: How long the head of a call may take: from the connection on, then from its first byte on.
HEAD_S = 10.0
#: What is said of what is no HTTP, to the caller and in the log.
MALFORMED = "Invalid HTTP request received."
#: Connections taken at a time: they are open before anybody can count them.
ACCEPTS_AT_ONCE = 16
#: How many refusals are on their way at a time, and how long each may take to be read.
#: To close at once would take the answer back if the caller has sent anything (RFC 9112
#: section 9.6).
REFUSING_AT_ONCE = 16
REFUSAL_S = 1.0

_CLOSE = (b"connection", b"close")


class Answer(Protocol):
    """A whole answer, its headers ready to send: names in lower case, a length among them."""

    status_code: int
    raw_headers: list[tuple[bytes, bytes]]
    body: bytes | memoryview


#: What an application may have beside it: returns the answer to a call without a body, by its
#: method, target and headers, if nothing has to be waited for; ``None``: it is to be called.
AtOnce: TypeAlias = Callable[[str, str, list[tuple[bytes, bytes]]], Answer | None]
#: Takes such an answer when it is there; without one the application is to be called, with
#: this in the state of its scope.
Answered: TypeAlias = Callable[[Answer | None, dict[str, Any]], None]
#: What else it may have: does as `AtOnce`, for answers that are there in a moment, and returns
#: whether the last argument will be called.
Soon: TypeAlias = Callable[[str, str, list[tuple[bytes, bytes]], Answered], bool]


class ServerConfig(uvicorn.Config):
    """A configuration whose connections keep to *limit*."""

    def __init__(self, app: ASGIApp, limit: ConnectionLimit, **named: Any) -> None:
        named |= {"http": Connection, "backlog": ACCEPTS_AT_ONCE}
        super().__init__(app, **named)
        self.limit = limit
        self.at_once: AtOnce | None = getattr(app, "at_once", None)
        self.soon: Soon | None = getattr(app, "soon", None)


class AwaitedAnswer:
    """A call that is answered soon, without a task: what uvicorn asks of one, and no more."""

    def __init__(self) -> None:
        self.response_started = self.response_complete = False
        self.disconnected = False
        self.keep_alive = True  # until the service leaves
        self.message_event = _NOBODY_WAITS


class _NoEvent:
    """In the place of an event that nobody waits for."""

    def set(self) -> None: ...


_NOBODY_WAITS = _NoEvent()


class Connection(HttpToolsProtocol):
    """One connection, which keeps to the limit of its port.

    Who comes when all are in use takes the place of the one that has made no call for
    longest; if all of them make one, it is answered 503 and closed.

    Of uvicorn's protocol it has how an answer is sent.  Calls are read here: uvicorn reads
    all that has come, and would keep any number of calls for one that is not answered yet.

    What can be answered at once is, without a task: one call each time that something comes.
    What can be soon is, too: then nothing more is read until it is.

    Attributes:
        calls: How many were begun.
    """

    def __init__(
        self,
        config: ServerConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._reader = RequestReader()
        self._at_once = config.at_once
        self._soon = config.soon
        self.calls = 0
        self._context = copy_context()
        self._limit = config.limit
        self._ending: asyncio.TimerHandle | None = None  # of a head, or of one turned away
        self._turned_away = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        full = len(self.connections) >= self._limit.most
        super().connection_made(transport)
        if full and not self._limit.make_room():
            self._turn_away()
            return
        self._limit.idle[self] = None
        self._ending = self.loop.call_later(HEAD_S, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._limit.idle.pop(self, None)
        self._limit.refusing -= self._turned_away
        self._turned_away = False
        self._unset_ending()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._turned_away or self.transport.is_closing():
            return
        self._unset_keepalive_if_required()
        self._reader.receive(data)
        self._read()
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing():
            self._read()
        self._watch()

    def _read(self) -> None:
        """Read up to the end of the call that is to be answered next."""
        reader = self._reader
        try:
            while reader.has_unread:
                if reader.in_body:
                    self._add_to_body(reader.read_body())
                    if reader.in_body:
                        break
                elif self._answers():
                    self.flow.pause_reading()
                    break
                elif head := reader.read_head():
                    self._begin(head)
                else:
                    break
        except Malformed:
            self._refuse()

    def _answers(self) -> bool:
        call: RequestResponseCycle | AwaitedAnswer | None = self.cycle
        return call is not None and not call.response_complete

    def _begin(self, head: Head) -> None:
        """Have the application answer the call of *head*, whose body may be yet to come."""
        self._unset_keepalive_if_required()
        self.calls += 1
        alone = self._may_do_without_a_task(head)
        if alone and (self._answered_at_once(head) or self._is_answered_soon(head)):
            return
        self._call(head)

    def _call(
        self,
        head: Head,
        state: Mapping[str, Any] = MappingProxyType({}),
        *,
        keep_alive: bool = True,
    ) -> None:
        """Have the application called, in a task, with *state* in the scope's."""
        raw_path, _, query = head.target.partition(b"?")
        path = raw_path.decode("ascii")
        self.scope = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": head.http_version,
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme or "http",
            "method": head.method,
            "root_path": "",
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw_path,
            "query_string": query,
            "headers": head.headers,
            "state": {**self.app_state, **state},
        }
        call = self.cycle = Answering(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=head.awaits_continue,
            keep_alive=head.keep_alive and keep_alive,
            on_response=self.on_response_complete,
        )
        if not self._reader.in_body:
            call.more_body = False
            call.message_event.set()
        # Not in the context of the call before, whose end this one may begin at.
        answering = self.loop.create_task(call.run_asgi(self.app), context=self._context.copy())
        answering.add_done_callback(self.tasks.discard)
        self.tasks.add(answering)

    def _may_do_without_a_task(self, head: Head) -> bool:
        if not head.keep_alive or self.flow.write_paused:
            return False
        # Nobody's calls keep others waiting, however many of them come at a time.
        return not self._reader.in_body and not self._reader.has_unread

    def _answered_at_once(self, head: Head) -> bool:
        """Answer the call of *head* if nothing has to be waited for; return whether it was."""
        if self._at_once is None:
            return False
        answer = self._at_once(head.method, head.target.decode("ascii"), head.headers)
        if answer is None:
            return False
        self._write(answer)
        self._unset_ending()
        self._limit.idle.pop(self, None)  # `_watch` puts it behind all others
        super().on_response_complete()
        return True

    def _is_answered_soon(self, head: Head) -> bool:
        """Have the call of *head* answered without a task, if it can be; return whether."""
        if self._soon is None:
            return False
        call = AwaitedAnswer()

        def answered(answer: Answer | None, state: dict[str, Any]) -> None:
            call.response_complete = True
            if call.disconnected or self.transport.is_closing():
                return
            if answer is None:
                self._call(head, state, keep_alive=call.keep_alive)
                return
            self._write(answer, () if call.keep_alive else (_CLOSE,))
            if not call.keep_alive:
                self.transport.close()
            self.on_response_complete()

        if not self._soon(head.method, head.target.decode("ascii"), head.headers, answered):
            return False
        self.cycle = call  # type: ignore[assignment]  # of uvicorn's only what it is asked for
        return True

    def _write(self, answer: Answer, more: Sequence[tuple[bytes, bytes]] = ()) -> None:
        lines = [STATUS_LINE[answer.status_code]]
        for name, value in (*self.server_state.default_headers, *answer.raw_headers, *more):
            lines.append(b"%b: %b\r\n" % (name, value))
        self.transport.write(b"".join((*lines, b"\r\n", answer.body)))

    def _add_to_body(self, part: bytes) -> None:
        call = self.cycle
        if call.response_complete:
            return  # nobody asks for it any more
        call.body += part
        call.more_body = self._reader.in_body
        if len(call.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        call.message_event.set()

    def _refuse(self) -> None:
        """Say that what came is no HTTP, unless a call is being answered, and close."""
        self.logger.warning(MALFORMED)
        if not self._answers():
            self.send_400_response(MALFORMED)
            return
        call = self.cycle
        if not call.response_started:
            self.send_400_response(MALFORMED)
        call.disconnected = True
        call.message_event.set()
        self.transport.close()

    def _watch(self) -> None:
        """Note whether a call is made, and since when the head of one is awaited."""
        if self._answers():
            self._limit.idle.pop(self, None)
            self._unset_ending()
            return
        if self not in self.connections:
            return  # it is gone
        # Also one that closes once its answer is read: that may be never.
        self._limit.idle.setdefault(self)
        begun = self._reader.has_unread and not self._reader.in_body
        if begun and self._ending is None and not self.transport.is_closing():
            self._ending = self.loop.call_later(HEAD_S, self.transport.close)

    def _turn_away(self) -> None:
        if self._limit.refusing >= REFUSING_AT_ONCE:
            self.transport.abort()
            return
        self._limit.refusing += 1
        self._turned_away = True
        self.transport.write(FULL)
        self.transport.write_eof()
        self._ending = self.loop.call_later(REFUSAL_S, self.transport.abort)

    def _unset_ending(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None


def _full() -> bytes:
    message = "all connections are in use; try again in a few seconds"
    body = bytes(ApiError("at_capacity", message).response().body)
    return (
        b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
        b"Retry-After: 5\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b"
    ) % (len(body), body)


#: What a caller is told for whom no connection is left.
FULL = _full()
