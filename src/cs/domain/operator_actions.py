"""The trail of operators' acts, read from the events that they caused.

It holds nothing about people who were found, and of the operator the name of an account.
"""

from datetime import datetime

import msgspec

from cs.domain.brand.events import BrandForgotten
from cs.domain.codec import AnyEvent
from cs.domain.console_operator import OperatorCreated, OperatorRevoked
from cs.domain.disclosure import DisclosureMade
from cs.domain.key import KeyIssued, KeyLimited, KeyRevoked, KeyRotated, QuotaGranted
from cs.domain.messages import Event, converted
from cs.domain.person import PersonErased, PersonSuppressed, SuppressionLifted
from cs.domain.service import DeadLetterDiscarded, DeadLetterSentAgain, Paused, Resumed

#: Longest name of an account; the rest is cut.
ACCOUNT = 64

_WHAT: dict[type[AnyEvent], str] = {
    KeyIssued: "key_issued",
    KeyRotated: "key_rotated",
    KeyRevoked: "key_revoked",
    QuotaGranted: "quota_granted",
    KeyLimited: "key_limited",
    Paused: "api_paused",
    Resumed: "api_resumed",
    DeadLetterSentAgain: "dead_letter_sent_again",
    DeadLetterDiscarded: "dead_letter_discarded",
    BrandForgotten: "brand_forgotten",
    PersonErased: "person_erased",
    PersonSuppressed: "person_suppressed",
    SuppressionLifted: "suppression_lifted",
    DisclosureMade: "disclosure_made",
    OperatorCreated: "operator_created",
    OperatorRevoked: "operator_revoked",
}
#: The events that operators bring about.
ACTS: frozenset[type[Event]] = frozenset(_WHAT)


class OperatorAct(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that an operator did.

    Attributes:
        of: The stream that it was done to.
        by: Account or label of who did; None: the service itself, or before it was noted.
        units: Of quota, if any were granted.
        per_minute: Searches that a key may make a minute, if that was set; a day follows.
        command: Which command opened people, if any were.
        why: What was said about that.
        old_until: Until when the secret before works, if a rotation left it time.
        letter: Topic, partition and offset of a dead letter, if one was handled.
    """

    at: datetime
    what: str
    of: str
    by: str | None = None
    units: int | None = None
    per_minute: int | None = None
    per_day: int | None = None
    command: str | None = None
    why: str | None = None
    old_until: datetime | None = None
    letter: str | None = None


def act_of(stream: str, event: AnyEvent) -> OperatorAct | None:
    """Return what an operator did in *event* of *stream*; None if it is the service's own."""
    what = _WHAT.get(type(event))
    return converted(event, OperatorAct, what=what, of=stream) if what is not None else None


def account(name: str) -> str | None:
    r"""Return *name* as it is noted: its printable characters, the first 64.

    >>> account(" ada\x1b[2J\u202e "), account("\n")
    ('ada[2J', None)
    """
    return "".join(filter(str.isprintable, name)).strip()[:ACCOUNT] or None
