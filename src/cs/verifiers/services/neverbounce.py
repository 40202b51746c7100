"""NeverBounce (API v4.2): always 200; whether it could answer is in ``status``.

A list must not be walked with single checks: the account may be locked.  So few are made at
once, and the calls of a lookup are bounded (`cs.pipeline.verification`).
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
    Response,
    ServiceVerdict,
    Verdict,
    fields,
    said,
    word,
)

#: Flags with which a "valid" is no proof.
_DOUBTS = frozenset(
    {
        "bad_dns",
        "bad_syntax",
        "connect_fails",
        "disposable_email",
        "spamtrap_network",
        "temporary_dns_error",
    }
)


class NeverBounceSettings(HostedSettings, frozen=True, kw_only=True):
    """Settings of ``[verifiers.neverbounce]``; a call is a credit."""

    url: str = "https://api.neverbounce.com/v4.2"
    calls_per_s: Annotated[float, Meta(gt=0, le=1000)] = 2.0
    burst: Annotated[int, Meta(ge=1, le=1000)] = 2
    usd_per_call: Annotated[float, Meta(ge=0, le=1000)] = 0.008


class NeverBounceAnswer(msgspec.Struct):
    result: str
    status: str = ""
    flags: tuple[str, ...] = ()


def read(answer: NeverBounceAnswer) -> ServiceVerdict:
    """Return what NeverBounce says of an address."""
    flags = frozenset(answer.flags)
    told = f"result={word(answer.result)} flags={','.join(map(word, sorted(flags)))[:300]}"
    if answer.result == "catchall" or "accepts_all" in flags:
        return said(Verdict.CATCH_ALL, told=told)
    match answer.result:
        case "valid" if answer.status == "success" and not flags & _DOUBTS:
            verdict = Verdict.DELIVERABLE
        case "invalid" | "disposable":
            verdict = Verdict.UNDELIVERABLE
        case _:
            verdict = Verdict.UNKNOWN
    return said(verdict, answer.result, told=told)


def complaint(answer: Mapping[str, Any]) -> str | None:
    """Return the ``status`` of *answer* with its message, unless it is a success."""
    status, message = answer.get("status", ""), answer.get("message", "")
    if not (isinstance(status, str) and isinstance(message, str)):
        return None
    return None if status in {"success", ""} else f"{status}: {message}"


def left(answer: Response) -> str | None:
    """Return the credits that *answer* says are left."""
    credits_ = fields(answer).get("credits_info")
    if not isinstance(credits_, dict):
        return None
    kinds = ("paid_credits_remaining", "free_credits_remaining")
    counts = (credits_.get(kind) for kind in kinds)
    return f"{sum(count for count in counts if isinstance(count, int))} credits"


ADAPTER = Adapter(
    name="neverbounce",
    settings=NeverBounceSettings,
    key_param="key",
    question=lambda address: Question(
        path="/single/check", params={"email": address, "credits_info": "1", "timeout": "8"}
    ),
    answer=NeverBounceAnswer,
    read=read,
    complaint=complaint,
    complaints={
        "^throttle_triggered": ProblemKind.RATE_LIMITED,
        "^(auth_failure|bad_referrer)": ProblemKind.KEY_REFUSED,
        "^temp_unavail": ProblemKind.OUT_OF_ORDER,
        "^general_failure.*(credit|balance)": ProblemKind.NO_CREDITS,
    },
    left=left,
)
from_context = ADAPTER.from_context
