"""ZeroBounce (API v2): a status and a sub-status, and 200 for everything, errors too.

"valid" hides domains that accept every address in its sub-status, so only sub-statuses that are
known to be about the mailbox count; a new one is `UNKNOWN`.  403 is its shield against too
many calls, not a refused key.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from cs.plugins.hosted import (
    Adapter,
    HostedSettings,
    ProblemKind,
    Question,
    ServiceVerdict,
    Verdict,
    said,
    word,
)

#: Sub-statuses of "valid" that say nothing against the mailbox.
_PLAIN_VALID = frozenset({"", "none", "alternate", "gold"})


class ZeroBounceSettings(HostedSettings, frozen=True, kw_only=True):
    """Settings of ``[verifiers.zerobounce]``; a call is a credit, "unknown" is free."""

    url: str = "https://api.zerobounce.net/v2"
    calls_per_s: Annotated[float, Meta(gt=0, le=1000)] = 20.0
    burst: Annotated[int, Meta(ge=1, le=1000)] = 20
    usd_per_call: Annotated[float, Meta(ge=0, le=1000)] = 0.008
    # One of its documented addresses for trials, which are free.
    trial_address: str = "valid@example.com"


class ZeroBounceAnswer(msgspec.Struct):
    status: str
    sub_status: str | None = None
    error: str | None = None


def read(answer: ZeroBounceAnswer) -> ServiceVerdict:
    """Return what ZeroBounce says of an address.

    Unknown are also "spamtrap", "abuse", "do_not_mail", and a "valid" with a doubt.
    """
    status, sub = answer.status.lower(), (answer.sub_status or "").lower()
    told = f"status={word(status)} sub_status={word(sub)}"
    match status:
        case "catch-all":
            verdict = Verdict.CATCH_ALL
        case "valid" if "accept_all" in sub:
            verdict = Verdict.CATCH_ALL
        case "valid" if sub in _PLAIN_VALID and not answer.error:
            verdict = Verdict.DELIVERABLE
        case "invalid" if sub == "mailbox_quota_exceeded":
            verdict = Verdict.MAILBOX_FULL
        case "invalid":
            verdict = Verdict.UNDELIVERABLE
        case _:
            verdict = Verdict.UNKNOWN
    return said(verdict, status, sub, told=told)


def complaint(answer: Mapping[str, Any]) -> str | None:
    """Return the error within *answer*."""
    error = answer.get("error")
    return error if isinstance(error, str) and error else None


ADAPTER = Adapter(
    name="zerobounce",
    settings=ZeroBounceSettings,
    key_param="api_key",
    question=lambda address: Question(
        path="/validate", params={"email": address, "ip_address": ""}
    ),
    answer=ZeroBounceAnswer,
    read=read,
    statuses={403: ProblemKind.RATE_LIMITED},
    pause_s=60.0,
    complaint=complaint,
    complaints={"key|credit": ProblemKind.KEY_REFUSED},  # one message for both
    charged=lambda answer: 0 if answer.status.lower() == "unknown" else 1,
)
from_context = ADAPTER.from_context
