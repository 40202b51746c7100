"""What is written in the journal of a list: one entry a line, as JSON.

A journal may have been begun by an older version, so ``kind`` and the names of fields stay
as they are; a new field has a default.
"""

from datetime import datetime, timedelta

import msgspec

from cs.cli.brand_list.rows import Row
from cs.client import Done, Failed, Other
from cs.client.retries import KEY_KNOWN_S

#: How long a server surely knows an idempotency key.
KNOWN_FOR = timedelta(seconds=KEY_KNOWN_S)
#: What was asked for later than now was asked for by another clock, or by this one before it
#: was set back: who knows when.  Clocks that are kept in step differ by less.
_AHEAD = timedelta(minutes=5)


class _Entry(msgspec.Struct, frozen=True, tag_field="kind"):
    pass


class ListBegun(_Entry, frozen=True, tag="begun"):
    """The list was begun with this server and key; *identity* is a hash of both.

    *place* is where the list was then: idempotency keys are made of it, so that they stay the
    same when list and journal move together, or when the journal is lost.
    """

    identity: str
    place: str = ""


class OwnerChanged(_Entry, frozen=True, tag="moved"):
    """The list goes on with this server and key, hashed as in `ListBegun`."""

    identity: str


class RowRequested(_Entry, frozen=True, tag="asked"):
    """*key* is about to be asked for: from here on it may have been charged.

    It is asked for again as *row* says it, whatever the list says by then: an idempotency
    key belongs to the brand as it was written (contract L14).
    """

    key: str
    at: datetime
    row: Row | None = None

    def is_known(self, at: datetime) -> bool:
        """Return whether the service surely knows the idempotency key *at*, if it got it."""
        return -_AHEAD <= at - self.at < KNOWN_FOR


class AnswerLost(_Entry, frozen=True, tag="lost"):
    """What came for *key*, if anything, was no answer of the service."""

    key: str


class SearchStarted(_Entry, frozen=True, tag="started"):
    """A search runs for *key*; *search* is its id."""

    key: str
    search: str


class RowRefused(_Entry, frozen=True, tag="refused"):
    """Nothing was ever done for *key*: it was asked for once, or is not known."""

    key: str


class RowReset(_Entry, frozen=True, tag="again"):
    """*key* has ended and is to be searched anew, with another idempotency key."""

    key: str


class RowError(msgspec.Struct, frozen=True):
    """An error instead of a search."""

    code: str
    status: int
    message: str


class RowFinished(_Entry, frozen=True, tag="ended"):
    """*row* is finished: with how its search ended, or with an error that will not change."""

    key: str
    row: Row
    search: Done | Failed | None = None
    other: Other | None = None
    error: RowError | None = None


Entry = (
    ListBegun
    | OwnerChanged
    | RowRequested
    | AnswerLost
    | SearchStarted
    | RowRefused
    | RowReset
    | RowFinished
)
_decoder = msgspec.json.Decoder(Entry)


def encode(entry: Entry) -> bytes:
    """Return the line that *entry* is written as, with its end."""
    return msgspec.json.encode(entry) + b"\n"


def decode(line: bytes) -> Entry:
    """Return the entry that *line* is.

    Raises:
        msgspec.DecodeError: It is none.
        UnicodeDecodeError: It is not UTF-8.
    """
    entry: Entry = _decoder.decode(line)
    return entry
