"""Kickbox (API v2): a result with a reason, and whether the domain accepts every address.

``success`` is about the call and not about the mailbox.
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


class KickboxSettings(HostedSettings, frozen=True, kw_only=True):
    """Settings of ``[verifiers.kickbox]``; a call is a credit."""

    url: str = "https://api.kickbox.com/v2"
    calls_per_s: Annotated[float, Meta(gt=0, le=133)] = 10.0
    burst: Annotated[int, Meta(ge=1, le=25)] = 10
    usd_per_call: Annotated[float, Meta(ge=0, le=1000)] = 0.01


class KickboxAnswer(msgspec.Struct):
    result: str
    reason: str = ""
    accept_all: bool | None = None
    disposable: bool | None = None


def read(answer: KickboxAnswer) -> ServiceVerdict:
    """Return what Kickbox says of an address."""
    result, why = word(answer.result), word(answer.reason)
    told = f"result={result} reason={why} accept_all={answer.accept_all}"
    if answer.accept_all:
        return said(Verdict.CATCH_ALL, told=told)
    match answer.result:
        case "deliverable" if answer.accept_all is False and not answer.disposable:
            return said(Verdict.DELIVERABLE, result, why, told=told, catch_all=False)
        case "undeliverable":
            return said(Verdict.UNDELIVERABLE, result, why, told=told)
        case _:
            return said(Verdict.UNKNOWN, result, why, told=told)


def complaint(answer: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a call without ``success``."""
    return str(answer.get("message") or "") if answer.get("success") is False else None


ADAPTER = Adapter(
    name="kickbox",
    settings=KickboxSettings,
    key_param="apikey",
    question=lambda address: Question(
        path="/verify", params={"email": address, "timeout": "8000"}
    ),
    answer=KickboxAnswer,
    read=read,
    complaint=complaint,
    complaints={"balance|credit": ProblemKind.NO_CREDITS, "key": ProblemKind.KEY_REFUSED},
)
from_context = ADAPTER.from_context
