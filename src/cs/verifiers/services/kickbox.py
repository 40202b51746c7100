"""Kickbox (API v2): a result with a reason, and whether the domain accepts everybody.

``success`` is about the call and not about the mailbox.
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

NAME = "kickbox"


class KickboxSettings(HostedSettings, frozen=True, kw_only=True):
    """What ``[verifiers.kickbox]`` takes; a call is a credit."""

    url: str = "https://api.kickbox.com/v2"
    calls_per_s: Annotated[float, Meta(gt=0, le=133)] = 10.0
    burst: Annotated[int, Meta(ge=1, le=25)] = 10
    usd_per_call: Annotated[float, Meta(ge=0, le=1000)] = 0.01


class KickboxAnswer(msgspec.Struct):
    result: str
    reason: str = ""
    accept_all: bool | None = None
    disposable: bool | None = None


class _KickboxCall(msgspec.Struct):
    success: bool = True
    message: str | None = None


def read(answer: KickboxAnswer) -> ServiceVerdict:
    """Return what Kickbox says of an address."""
    result, why = word(answer.result), word(answer.reason)
    told = (f"result={result} reason={why} accept_all={answer.accept_all}",)
    reason = f"said-{result}" + (f"-{why}" if why else "")
    if answer.accept_all:
        return ServiceVerdict(Verdict.CATCH_ALL, "catch-all", catch_all=True, told=told)
    match answer.result:
        case "deliverable" if answer.accept_all is False and not answer.disposable:
            return ServiceVerdict(Verdict.DELIVERABLE, reason, catch_all=False, told=told)
        case "undeliverable":
            return ServiceVerdict(Verdict.UNDELIVERABLE, reason, told=told)
        case _:
            return ServiceVerdict(Verdict.UNKNOWN, reason, told=told)


def judge(answer: Response) -> ServiceProblem | None:
    """Return the problem that a call without ``success`` means."""
    call = decoded(answer, _KickboxCall) if answer.status == 200 else None
    if call is None or call.success:
        return None
    words = (call.message or "").lower()
    if "balance" in words or "credit" in words:
        return refused(NAME, ProblemKind.NO_CREDITS, call.message or "")
    kind = ProblemKind.KEY_REFUSED if "key" in words else ProblemKind.BAD_QUESTION
    return refused(NAME, kind, call.message or "")


ADAPTER = Adapter(
    name=NAME,
    question=lambda address: Question(
        path="/verify", params={"email": address, "timeout": "8000"}
    ),
    answer=KickboxAnswer,
    read=read,
    judge=judge,
)

from_context = with_key(ADAPTER, KickboxSettings, param="apikey")
