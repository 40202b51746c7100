"""What a replay reads of stored events with people: the fewest of their values."""

import msgspec

from cs.domain.contact import CheckedPerson, LeftOut, Opinion, Person, RankedPerson
from cs.history.opening import SealedPeople, SealedValue


class SealedFindings(SealedPeople, frozen=True, kw_only=True):
    """Of a stored *people found* or *contacts discovered* event."""

    people: tuple[SealedValue, ...] = ()


class SealedRanking(SealedPeople, frozen=True, kw_only=True):
    """Of a stored *contacts ranked* event."""

    ranked: tuple[SealedValue, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    opinions: tuple[SealedValue, ...] = ()
    rules: str | None = None


class SealedCheck(SealedPeople, frozen=True, kw_only=True):
    """Of a stored *mailbox verified* or *mailbox not verified* event."""

    checked: SealedValue


class _Whose(msgspec.Struct, frozen=True):
    person: str


class WhoseCheck(SealedPeople, frozen=True, kw_only=True):
    """Of the same: only whose mailbox it was, which is in clear."""

    checked: _Whose


AnySealed = SealedFindings | SealedRanking | SealedCheck | WhoseCheck

PERSON = msgspec.json.Decoder(Person)
RANKED = msgspec.json.Decoder(RankedPerson)
OPINION = msgspec.json.Decoder(Opinion)
CHECKED = msgspec.json.Decoder(CheckedPerson)
