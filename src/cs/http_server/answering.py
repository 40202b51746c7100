"""How an answer's head is written: at once if it is an ordinary one."""

import re
from functools import lru_cache

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

#: The name of a field as it is sent, in lower case (RFC 9110 section 5.1).
_NAME = re.compile(rb"[-!#$%&'*+.^_`|~0-9a-z]+")
#: What no value has, so that nothing in it ends its line (RFC 9110 section 5.5).
_CONTROLS = bytes(c for c in (*range(32), 127) if c != ord("\t"))
#: What says how an answer ends, if it is no ordinary one.
_FRAMING = frozenset({b"connection", b"transfer-encoding"})


@lru_cache(maxsize=256)
def _is_name(name: bytes) -> bool:
    """Return whether *name* is one as it is sent; an application has a few dozen."""
    return _NAME.fullmatch(name) is not None


class Answering(RequestResponseCycle):
    """A call and its answer.

    Uvicorn looks at each header for itself.  Of an answer that says how long it is, and after
    which the connection stays open, all are looked at together; any other is left to uvicorn.
    """

    async def send(self, message: ASGISendEvent) -> None:
        if self.response_started or not self._write_head(message):
            await super().send(message)

    def _write_head(self, message: ASGISendEvent) -> bool:
        """Return whether *message* is the head of an ordinary answer, which then is written."""
        if message["type"] != "http.response.start":
            return False
        if self.disconnected or self.flow.write_paused or not self.keep_alive:
            return False
        headers = [*self.default_headers, *message.get("headers", ())]
        length = None
        for name, value in headers:
            if name in _FRAMING or not _is_name(name):
                return False
            if name == b"content-length":
                length = value
        fields = b"".join([b"%b: %b\r\n" % header for header in headers])
        if length is None or not length.isdigit():
            return False
        if len(fields.translate(None, _CONTROLS)) != len(fields) - 2 * len(headers):
            return False
        self.response_started = True
        self.waiting_for_100_continue = False
        self.chunked_encoding = False
        self.expected_content_length = int(length)
        self.transport.write(b"%b%b\r\n" % (STATUS_LINE[message["status"]], fields))
        return True
