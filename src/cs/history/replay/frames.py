"""Questions to rules in another process, and their answers: shapes and frames.

Two versions of the service speak it: shapes only grow, a new field has a default.
"""

from collections.abc import Mapping
from typing import IO, Any

import msgspec

from cs.domain.contact import BrandFacts, CheckedPerson, Opinion, Person, Query, SourceMatches
from cs.history.replay.rules import BrandChoice, Judgement, Ranking

#: The longest frame, in bytes: a lookup's 100 people with every piece of evidence take 10 MB.
LONGEST = 64_000_000
_LENGTH = 4


class Rank(msgspec.Struct, frozen=True, tag="rank"):
    brand: BrandFacts
    people: tuple[Person, ...]
    limit: int
    opinions: tuple[Opinion, ...] = ()


class Judge(msgspec.Struct, frozen=True, tag="judge"):
    checks: tuple[CheckedPerson, ...]


class Resolve(msgspec.Struct, frozen=True, tag="resolve"):
    query: Query
    matches: tuple[SourceMatches, ...]


Question = Rank | Judge | Resolve

#: The shape of the answer to each.
ANSWERS: Mapping[type[Question], Any] = {
    Rank: Ranking,
    Judge: tuple[Judgement, ...],
    Resolve: BrandChoice,
}


class ReplayAnswer(msgspec.Struct, frozen=True):
    """What was answered, or why nothing could be."""

    value: msgspec.Raw = msgspec.Raw(b"\xc0")
    broken: str | None = None


class FrameError(Exception):
    """The other side ended, or says what is no frame."""


def write_frame(pipe: IO[bytes], message: bytes) -> None:
    """Write *message*, so that `read_frame` finds its end.

    Raises:
        OSError: Nobody reads any more.
        FrameError: It is longer than `LONGEST`.
    """
    if len(message) > LONGEST:
        raise FrameError("too long")
    pipe.write(len(message).to_bytes(_LENGTH, "big") + message)
    pipe.flush()


def read_frame(pipe: IO[bytes]) -> bytes:
    """Return the next message.

    Raises:
        FrameError: There is none, or it is longer than `LONGEST`.
    """
    length = int.from_bytes(_exactly(pipe, _LENGTH), "big")
    if length > LONGEST:
        raise FrameError("too long")
    return _exactly(pipe, length)


def _exactly(pipe: IO[bytes], length: int) -> bytes:
    read = pipe.read(length)
    if len(read) < length:
        raise FrameError("ended")
    return read
