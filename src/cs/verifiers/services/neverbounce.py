"""NeverBounce (API v4.2): always 200; whether it could answer is in ``status``.

A list must not be walked with single checks: the account may be locked.  So few are made at
once, and the calls of a lookup are bounded (`cs.pipeline.verification`).
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

NAME = "neverbounce"
_THROTTLED_S = 10.0
#: Flags with which a "valid" is no proof.
_DOUBTS = frozenset(
    {
        *("bad_dns", "bad_syntax", "connect_fails", "disposable_email"),
        *("spamtrap_network", "temporary_dns_error"),
    }
)
_PROBLEMS = {
    "auth_failure": ProblemKind.KEY_REFUSED,
    "bad_referrer": ProblemKind.KEY_REFUSED,
    "temp_unavail": ProblemKind.OUT_OF_ORDER,
}


class NeverBounceSettings(HostedSettings, frozen=True, kw_only=True):
    """What ``[verifiers.neverbounce]`` takes; a call is a credit."""

    url: str = "https://api.neverbounce.com/v4.2"
    calls_per_s: Annotated[float, Meta(gt=0, le=1000)] = 2.0
    burst: Annotated[int, Meta(ge=1, le=1000)] = 2
    usd_per_call: Annotated[float, Meta(ge=0, le=1000)] = 0.008


class _Credits(msgspec.Struct):
    paid_credits_remaining: int = 0
    free_credits_remaining: int = 0


class NeverBounceAnswer(msgspec.Struct):
    result: str
    status: str = ""
    flags: tuple[str, ...] = ()


class _Envelope(msgspec.Struct):
    status: str = ""
    message: str = ""
    credits_info: _Credits | None = None


def read(answer: NeverBounceAnswer) -> ServiceVerdict:
    """Return what NeverBounce says of an address."""
    flags = frozenset(answer.flags)
    told = (f"result={word(answer.result)} flags={','.join(map(word, sorted(flags)))[:300]}",)
    reason = f"said-{word(answer.result)}"
    if answer.result == "catchall" or "accepts_all" in flags:
        return ServiceVerdict(Verdict.CATCH_ALL, "catch-all", catch_all=True, told=told)
    match answer.result:
        case "valid" if answer.status == "success" and not flags & _DOUBTS:
            return ServiceVerdict(Verdict.DELIVERABLE, reason, told=told)
        case "invalid" | "disposable":
            return ServiceVerdict(Verdict.UNDELIVERABLE, reason, told=told)
        case _:
            return ServiceVerdict(Verdict.UNKNOWN, reason, told=told)


def judge(answer: Response) -> ServiceProblem | None:
    """Return the problem that an answer's own ``status`` means."""
    envelope = decoded(answer, _Envelope) if answer.status == 200 else None
    if envelope is None or envelope.status in {"success", ""}:
        return None
    if envelope.status == "throttle_triggered":
        why = f"{NAME} asks us to come back later"
        return problem(ProblemKind.RATE_LIMITED, why, _THROTTLED_S)
    words = envelope.message.lower()
    kind = _PROBLEMS.get(envelope.status, ProblemKind.BAD_QUESTION)
    if envelope.status == "general_failure" and ("credit" in words or "balance" in words):
        kind = ProblemKind.NO_CREDITS
    return refused(NAME, kind, f"{envelope.status}: {envelope.message}")


def left(answer: Response) -> str | None:
    """Return the credits that *answer* says are left."""
    envelope = decoded(answer, _Envelope)
    if envelope is None or envelope.credits_info is None:
        return None
    found = envelope.credits_info
    return f"{found.paid_credits_remaining + found.free_credits_remaining} credits"


ADAPTER = Adapter(
    name=NAME,
    question=lambda address: Question(
        path="/single/check", params={"email": address, "credits_info": "1", "timeout": "8"}
    ),
    answer=NeverBounceAnswer,
    read=read,
    judge=judge,
    left=left,
)

from_context = with_key(ADAPTER, NeverBounceSettings, param="key")
