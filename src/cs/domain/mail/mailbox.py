"""Mailboxes: what is known of one, and how it came to be known."""

from datetime import datetime
from enum import StrEnum

import msgspec


class Verdict(StrEnum):
    """Result of a check of one mailbox.  Only `DELIVERABLE` is ever shown."""

    DELIVERABLE = "deliverable"
    UNDELIVERABLE = "undeliverable"
    CATCH_ALL = "catch_all"  # the domain accepts every local part: acceptance proves nothing
    MAILBOX_FULL = "mailbox_full"  # exists, takes no mail now
    UNKNOWN = "unknown"  # could not find out


#: The reason of a service that may not disclose a person (HTTP 451); the person is
#: suppressed from then on.
RESTRICTED = "restricted"
#: Reason and verifier of evidence that comes from a bounce, which the operator reported.
BOUNCED = "bounced"
BOUNCES = "bounces"
#: Verdicts that would be the same if asked again at once (contract C6).
DEFINITE = frozenset({Verdict.DELIVERABLE, Verdict.UNDELIVERABLE, Verdict.CATCH_ALL})


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line of a conversation with a mail server."""

    at_ms: int  # since the first line, or since the check of this address began if earlier
    who: str  # "C" we said it, "S" the server said it
    text: str  # without the line end; at most 512 characters


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Finding of one verifier about one address, with time and reason.

    Personal: it names an address.  Inside events it stands only within a
    `cs.domain.personal.Personal` value.
    """

    address: str
    verdict: Verdict
    reason: str  # stable, lower-case, hyphens: "recipient-refused", "greylisted", "null-mx"
    verifier: str
    at: datetime
    mx: str | None = None  # the mail exchanger that answered
    conversation: tuple[Line, ...] = ()
    retry_in_s: float | None = None  # transient: worth asking again after this long
    answered: bool = True  # the outside world gave some reply (a DNS answer counts)
    rules: str | None = None  # that read it (`cs.domain.rule_sets`); `None`: not recorded


def bounce_evidence(address: str, at: datetime) -> Evidence:
    """Return what is known at *at* of a mailbox from which mail came back before."""
    return Evidence(
        address=address,
        verdict=Verdict.UNDELIVERABLE,
        reason=BOUNCED,
        verifier=BOUNCES,
        at=at,
    )


class DomainFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a mail domain; none about a person."""

    catch_all: bool | None = None
    greylists: bool | None = None
    one_recipient: bool | None = None  # takes one recipient a session
    pattern: str | None = None  # of the local parts: "first.last", "flast", ...
