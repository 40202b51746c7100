"""One connection to a web server: HTTP/1.1 by h11, one request after the other.

httpcore's own is not used (decision 43): it takes three locks and enters as many cancel scopes
for each request, which is half of what a small answer costs.
"""

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import cast

import h11
import httpcore
import httpx

#: Bytes of an answer's head, or of one line between its chunks; h11 refuses more.
HEAD_MAX = 100 * 1024
_READ = 64 * 1024


class HttpConnection:
    """Sends a request, and reads its answer; `may_be_reused` when that was read to its end.

    Args:
        stream: Dialled; TLS included if there is any.

    Raises:
        httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError: From every
            method that sends or reads; then it is to be closed.
    """

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_MAX)

    async def send(self, request: httpx.Request) -> h11.Response | h11.InformationalResponse:
        """Send *request*, whose body is at hand, and return the head of its answer."""
        timeouts = request.extensions["timeout"]
        written = self._written(request)
        with suppress(httpcore.WriteError):  # who refuses it may answer, and close, before
            await self._stream.write(written, timeout=timeouts["write"])
        while True:
            event = await self._event(timeouts["read"])
            if isinstance(event, h11.Response):
                return event
            if isinstance(event, h11.InformationalResponse) and event.status_code == 101:
                return event

    async def body(self, timeout_s: float | None) -> AsyncIterator[bytes]:
        """Yield the body of the answer; each wait may take *timeout_s*."""
        while True:
            event = await self._event(timeout_s)
            if isinstance(event, h11.Data):
                yield bytes(event.data)
            elif isinstance(event, h11.EndOfMessage) or event is h11.PAUSED:
                return

    def may_be_reused(self) -> bool:
        """Say whether the answer was read to its end, and make ready for another request."""
        done = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
        if done and not self._http.trailing_data[0]:  # what came behind answers nothing asked
            self._http.start_next_cycle()
            return True
        return False

    def has_ended(self) -> bool:
        """Say whether the other side has closed it, or speaks unasked."""
        return bool(self._stream.get_extra_info("is_readable"))

    async def aclose(self) -> None:
        await self._stream.aclose()

    def _written(self, request: httpx.Request) -> bytes:
        try:
            head = h11.Request(
                method=request.method,
                target=request.url.raw_path,
                headers=request.headers.raw,
            )
            parts = [self._http.send(head)]
            if request.content:
                parts.append(self._http.send(h11.Data(data=request.content)))
            parts.append(self._http.send(h11.EndOfMessage()))
        except h11.LocalProtocolError as error:
            raise httpcore.LocalProtocolError(str(error)) from error
        return b"".join(part for part in parts if part)

    async def _event(self, timeout_s: float | None) -> h11.Event | type[h11.PAUSED]:
        while True:
            try:
                event = self._http.next_event()
                if event is not h11.NEED_DATA:
                    return cast("h11.Event | type[h11.PAUSED]", event)
                data = await self._stream.read(_READ, timeout=timeout_s)
                if not data and self._http.their_state is h11.SEND_RESPONSE:
                    raise httpcore.RemoteProtocolError("it closed without an answer")
                self._http.receive_data(data)
            except h11.RemoteProtocolError as error:
                raise httpcore.RemoteProtocolError(str(error)) from error
