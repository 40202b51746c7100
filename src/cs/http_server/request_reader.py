"""Requests read from bytes, one at a time (RFC 9112); knows no sockets.

llhttp reads the fields and the chunks.  It is used so that neither it nor a proxy before us
can see the end of a request elsewhere than we do:

* It is given one head, up to its empty line, and of a chunked body one line after the other,
  so that what comes behind a request is not looked at before that one is answered.
* The request line is matched here: llhttp takes those of other protocols, too (RTSP, ICE),
  and refuses methods that it does not know, which are the application's to refuse.
* Each head and each chunked body has a parser of its own: none goes on as another protocol
  (``Upgrade``), and nothing of one request counts for the next.
"""

import re
from typing import NamedTuple

import httptools

#: Of a head, of a chunk's first line, of the trailers of a body: bytes at most.
MAX_HEAD = 64 * 1024

_END_OF_HEAD = re.compile(rb"\n\r?\n")
#: RFC 9112 section 3, of HTTP/1.0 and 1.1.
_REQUEST_LINE = re.compile(rb"([-!#$%&'*+.^_`|~0-9A-Za-z]+) ([!-~]+) HTTP/(1\.[01])\r\n")
#: llhttp refuses a value with a control character.  But for white space and NUL, one is read as
#: a byte that is no ASCII either, for the application to refuse in its own words (RFC 9110
#: section 5.5: a recipient may retain them).
_CONTROLS = bytes(c for c in (*range(1, 32), 127) if c not in b"\t\n\v\f\r")
RETAINED = bytes.maketrans(_CONTROLS, b"\xff" * len(_CONTROLS))
#: RFC 9112 section 7.1, of at most as many digits as 64 bits have.
_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,16}[;\r]")
_CHUNKED_HEAD = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
#: Those of 64 bits have 20 digits.
_LENGTH_DIGITS = 19


class Malformed(Exception):
    """What came is no request, or its end is in doubt: nothing more can be read."""


class Head(NamedTuple):
    """The head of a request.

    Attributes:
        target: As it was sent: ASCII without spaces.
        http_version: ``1.0`` or ``1.1``.
        headers: Names in lower case, values without white space around them.
        keep_alive: Whether another request may follow on the connection.
        awaits_continue: Whether the body is sent once the caller is told to.
    """

    method: str
    target: bytes
    http_version: str
    headers: list[tuple[bytes, bytes]]
    keep_alive: bool
    awaits_continue: bool


class RequestReader:
    """Reads what it is given with `receive`: a head, then its body, then the next head."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._searched = 0  # so far no head ends in it
        #: Of the body that is read: bytes to come, or what reads its chunks.
        self._left = 0
        self._chunks: _ChunkedBody | None = None

    @property
    def in_body(self) -> bool:
        """Return whether a head was read whose body has not come whole."""
        return self._left > 0 or self._chunks is not None

    @property
    def has_unread(self) -> bool:
        return bool(self._received)

    def receive(self, data: bytes) -> None:
        self._received += data

    def read_head(self) -> Head | None:
        """Return the next head; None: it has not come whole.

        Raises:
            Malformed: It is none, or longer than `MAX_HEAD`.
        """
        received = self._received
        found = _END_OF_HEAD.search(received, self._searched)
        end = found.end() if found else 0
        del found  # the buffer can be changed again
        if (end or len(received)) > MAX_HEAD:
            raise Malformed(f"the head is longer than {MAX_HEAD} bytes")
        if not end:
            if received.startswith((b"\r", b"\n")):
                raise Malformed("an empty line where a head begins")
            self._searched = max(0, len(received) - 2)
            return None
        sent = bytes(received[:end])
        del received[:end]
        self._searched = 0
        return self._parsed(sent)

    def _parsed(self, sent: bytes) -> Head:
        line = _REQUEST_LINE.match(sent)
        if line is None:
            raise Malformed("no request line of HTTP/1.0 or 1.1")
        method, target, version = line.groups()
        fields = _Fields()
        named = sent[line.end() :].translate(RETAINED)
        try:
            fields.parser.feed_data(b"POST / HTTP/%b\r\n%b" % (version, named))
        except httptools.HttpParserUpgrade:
            pass  # another protocol is offered, which nobody has to take (RFC 9110 section 7.8)
        except httptools.HttpParserError as error:
            raise Malformed(str(error)) from error
        finally:
            del fields.parser  # they hold each other: only the garbage collector would end them
        if not fields.whole:
            raise Malformed("the head has no end")
        recent = version == b"1.1"
        self._frame(fields.named, recent=recent)
        return Head(
            method.decode("ascii"),
            target,
            version.decode("ascii"),
            fields.headers,
            fields.keep_alive and recent,
            recent and fields.awaits_continue,
        )

    def _frame(self, named: dict[bytes, bytes], *, recent: bool) -> None:
        """Note how long the body is, from the headers that llhttp let pass."""
        if recent and b"host" not in named:
            raise Malformed("no Host (RFC 9112 section 3.2)")
        coding, length = named.get(b"transfer-encoding"), named.get(b"content-length")
        if coding is not None:
            if length is not None or not recent or coding.lower() != b"chunked":
                raise Malformed("a body whose end is in doubt (RFC 9112 section 6)")
            self._chunks = _ChunkedBody()
        elif length is not None:
            if not length.isdigit() or len(length) > _LENGTH_DIGITS:
                raise Malformed("a length that is no number, or too long a one")
            self._left = int(length)

    def read_body(self) -> bytes:
        """Return what has come of the body; `in_body` is then whether more is to come.

        Raises:
            Malformed: Of a chunked body.
        """
        if self._chunks is None:
            part = bytes(self._received[: self._left])
            del self._received[: self._left]
            self._left -= len(part)
            return part
        part = self._chunks.take(self._received)
        if self._chunks.whole:
            self._chunks = None
        return part


#: Headers of which a second one is refused: they say where a request goes and where it ends.
_ONCE = frozenset({b"host", b"content-length", b"transfer-encoding"})


class _Fields:
    """What llhttp calls while it reads a head."""

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.named: dict[bytes, bytes] = {}  # those of `_ONCE`
        self.awaits_continue = self.keep_alive = self.whole = False
        self.parser = httptools.HttpRequestParser(self)

    def on_header(self, name: bytes, value: bytes) -> None:
        name, value = name.lower(), value.rstrip(b" \t")
        self.headers.append((name, value))
        if name in _ONCE:
            if name in self.named:
                raise Malformed(f"more than one {name.decode()}")
            self.named[name] = value
        elif name == b"expect":
            self.awaits_continue = value.lower() == b"100-continue"

    def on_headers_complete(self) -> None:
        self.keep_alive, self.whole = self.parser.should_keep_alive(), True


class _ChunkedBody:
    """A chunked body (RFC 9112 section 7.1); what its trailers say is left out."""

    def __init__(self) -> None:
        self.whole = False
        self._at_size = True  # of the next chunk
        self._parts: list[bytes] = []
        self._beside = 0  # bytes since the last one of the body
        self._parser = httptools.HttpRequestParser(self)
        self._parser.feed_data(_CHUNKED_HEAD)

    def take(self, received: bytearray) -> bytes:
        """Remove from *received* what is of this body, and return what it carries."""
        while received and not self.whole:
            end = received.find(b"\n") + 1
            if self._at_size and not end:
                if len(received) > MAX_HEAD:
                    raise Malformed("a chunk's first line is too long")
                break
            piece = bytes(received[: end or len(received)])
            if self._at_size and not _CHUNK_SIZE.match(piece):
                raise Malformed("no size of a chunk")
            del received[: len(piece)]
            self._read(piece)
        carried = b"".join(self._parts)
        self._parts.clear()
        return carried

    def _read(self, piece: bytes) -> None:
        self._beside += len(piece)
        try:
            self._parser.feed_data(piece)
        except httptools.HttpParserError as error:
            raise Malformed(str(error)) from error
        if self._beside > MAX_HEAD:
            raise Malformed("a chunk's first line or the trailers are too long")

    def on_chunk_header(self) -> None:
        self._at_size = False

    def on_body(self, part: bytes) -> None:
        self._parts.append(part)
        self._beside = 0

    def on_chunk_complete(self) -> None:
        self._at_size = True

    def on_message_complete(self) -> None:
        self.whole = True
