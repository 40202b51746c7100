"""How an answer's head is written: at once if it is an ordinary one."""

import re

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

#: Fields as they are sent, names in lower case; nothing in a value ends its line.
_FIELDS = re.compile(
    rb"(?:[-!#$%&'*+.^_`|~0-9a-z]+: [^\x00-\x08\x0a-\x1f\x7f]*\r\n)+"  # RFC 9110 section 5
)
#: What says how an answer ends, if it is no ordinary one.
_FRAMING = frozenset({b"connection", b"transfer-encoding"})


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
            if name in _FRAMING:
                return False
            if name == b"content-length":
                length = value
        fields = b"".join([b"%b: %b\r\n" % header for header in headers])
        if length is None or not length.isdigit() or fields.count(b"\n") != len(headers):
            return False
        if not _FIELDS.fullmatch(fields):
            return False
        self.response_started = True
        self.waiting_for_100_continue = False
        self.chunked_encoding = False
        self.expected_content_length = int(length)
        self.transport.write(b"%b%b\r\n" % (STATUS_LINE[message["status"]], fields))
        return True
