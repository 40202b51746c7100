"""ZeroBounce (API v2): a status and a sub-status, and 200 for everything, errors too.

"valid" hides domains that accept everybody in its sub-status, so only sub-statuses that are
known to be about the mailbox count; a new one is `UNKNOWN`.  403 is its shield against too
many calls, not a refused key.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from cs.plugins.verifiers import (
    ProblemKind,
    Question,
    Response,
    ServiceProblem,
    Verdict,
    problem,
)
from cs.verifiers.services.hosted import (
    Adapter,
    HostedSettings,
    ServiceVerdict,
    decoded,
    refused,
    with_key,
    word,
)

NAME = "zerobounce"
_SHIELD_PAUSE_S = 60.0
#: Sub-statuses of "valid" that say nothing against the mailbox.
_PLAIN_VALID = frozenset({"", "none", "alternate", "gold"})


class ZeroBounceSettings(HostedSettings, frozen=True, kw_only=True):
    """What ``[verifiers.zerobounce]`` takes; a call is a credit, "unknown" is free."""

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


class _ZeroBounceError(msgspec.Struct):
    error: str | None = None


def read(answer: ZeroBounceAnswer) -> ServiceVerdict:
    """Return what ZeroBounce says of an address."""
    status, sub = answer.status.lower(), (answer.sub_status or "").lower()
    told = (f"status={word(status)} sub_status={word(sub)}",)
    reason = f"said-{word(status)}" + (f"-{word(sub)}" if sub else "")
    if status == "catch-all" or (status == "valid" and "accept_all" in sub):
        return ServiceVerdict(Verdict.CATCH_ALL, "catch-all", catch_all=True, told=told)
    match status:
        case "valid" if sub in _PLAIN_VALID and not answer.error:
            return ServiceVerdict(Verdict.DELIVERABLE, reason, told=told)
        case "invalid" if sub == "mailbox_quota_exceeded":
            return ServiceVerdict(Verdict.MAILBOX_FULL, reason, told=told)
        case "invalid":
            return ServiceVerdict(Verdict.UNDELIVERABLE, reason, told=told)
        case _:  # unknown, spamtrap, abuse, do_not_mail, a "valid" with a doubt
            return ServiceVerdict(Verdict.UNKNOWN, reason, told=told)


def judge(answer: Response) -> ServiceProblem | None:
    """Return the problem that a status of ZeroBounce's, or an error within, means."""
    if answer.status == 403:
        why = f"{NAME} has shut us out for a while (403)"
        return problem(ProblemKind.RATE_LIMITED, why, _SHIELD_PAUSE_S)
    within = decoded(answer, _ZeroBounceError) if answer.status == 200 else None
    said = None if within is None else within.error
    if not said:
        return None
    words = said.lower()
    if "key" in words or "credit" in words:  # one message for both
        return refused(NAME, ProblemKind.KEY_REFUSED, said)
    return refused(NAME, ProblemKind.BAD_QUESTION, said)


ADAPTER = Adapter(
    name=NAME,
    question=lambda address: Question(
        path="/validate", params={"email": address, "ip_address": ""}
    ),
    answer=ZeroBounceAnswer,
    read=read,
    judge=judge,
    charged=lambda answer: 0 if answer.status.lower() == "unknown" else 1,
)

from_context = with_key(ADAPTER, ZeroBounceSettings, param="api_key")
