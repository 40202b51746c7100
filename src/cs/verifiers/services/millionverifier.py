"""MillionVerifier (API v3): a result, and 200 also for a refused key."""

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

_VERDICTS = {
    "ok": Verdict.DELIVERABLE,
    "catch_all": Verdict.CATCH_ALL,
    "invalid": Verdict.UNDELIVERABLE,
    "disposable": Verdict.UNDELIVERABLE,
}


class MillionVerifierSettings(HostedSettings, frozen=True, kw_only=True):
    """Settings of ``[verifiers.millionverifier]``; a call is a credit."""

    url: str = "https://api.millionverifier.com/api/v3"
    calls_per_s: Annotated[float, Meta(gt=0, le=1000)] = 10.0
    burst: Annotated[int, Meta(ge=1, le=1000)] = 10
    usd_per_call: Annotated[float, Meta(ge=0, le=1000)] = 0.0037


class MillionVerifierAnswer(msgspec.Struct):
    result: str
    error: str | None = None


def read(answer: MillionVerifierAnswer) -> ServiceVerdict:
    """Return what MillionVerifier says of an address."""
    verdict = _VERDICTS.get(answer.result, Verdict.UNKNOWN)
    if verdict is Verdict.DELIVERABLE and answer.error:
        verdict = Verdict.UNKNOWN
    return said(verdict, answer.result, told=f"result={word(answer.result)}")


def complaint(answer: Mapping[str, Any]) -> str | None:
    """Return the error within *answer*."""
    error, result = answer.get("error", ""), answer.get("result", "")
    if not (isinstance(error, str) and isinstance(result, str)):
        return None
    return error or result if error or result == "error" else None


ADAPTER = Adapter(
    name="millionverifier",
    settings=MillionVerifierSettings,
    key_param="api",
    question=lambda address: Question(path="/", params={"email": address, "timeout": "9"}),
    answer=MillionVerifierAnswer,
    read=read,
    complaint=complaint,
    complaints={"credit": ProblemKind.NO_CREDITS, r"key|\bip\b": ProblemKind.KEY_REFUSED},
    complains=ProblemKind.OUT_OF_ORDER,
)
from_context = ADAPTER.from_context
