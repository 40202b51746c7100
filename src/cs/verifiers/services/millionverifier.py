"""MillionVerifier (API v3): a result, and 200 also for a refused key."""

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

NAME = "millionverifier"


class MillionVerifierSettings(HostedSettings, frozen=True, kw_only=True):
    """What ``[verifiers.millionverifier]`` takes; a call is a credit."""

    url: str = "https://api.millionverifier.com/api/v3"
    calls_per_s: Annotated[float, Meta(gt=0, le=1000)] = 10.0
    burst: Annotated[int, Meta(ge=1, le=1000)] = 10
    usd_per_call: Annotated[float, Meta(ge=0, le=1000)] = 0.0037


class MillionVerifierAnswer(msgspec.Struct):
    result: str
    error: str | None = None


class _MillionVerifierError(msgspec.Struct):
    result: str = ""
    error: str = ""


def read(answer: MillionVerifierAnswer) -> ServiceVerdict:
    """Return what MillionVerifier says of an address."""
    told, reason = (f"result={word(answer.result)}",), f"said-{word(answer.result)}"
    match answer.result:
        case "ok" if not answer.error:
            return ServiceVerdict(Verdict.DELIVERABLE, reason, told=told)
        case "catch_all":
            return ServiceVerdict(Verdict.CATCH_ALL, "catch-all", catch_all=True, told=told)
        case "invalid" | "disposable":
            return ServiceVerdict(Verdict.UNDELIVERABLE, reason, told=told)
        case _:
            return ServiceVerdict(Verdict.UNKNOWN, reason, told=told)


def judge(answer: Response) -> ServiceProblem | None:
    """Return the problem that an answer with an error within means."""
    said = decoded(answer, _MillionVerifierError) if answer.status == 200 else None
    if said is None or (said.result != "error" and not said.error):
        return None
    words = said.error.lower()
    if "credit" in words:
        return refused(NAME, ProblemKind.NO_CREDITS, said.error)
    if "key" in words or "ip" in words.split():
        return refused(NAME, ProblemKind.KEY_REFUSED, said.error)
    return refused(NAME, ProblemKind.OUT_OF_ORDER, said.error or said.result)


ADAPTER = Adapter(
    name=NAME,
    question=lambda address: Question(path="/", params={"email": address, "timeout": "9"}),
    answer=MillionVerifierAnswer,
    read=read,
    judge=judge,
)

from_context = with_key(ADAPTER, MillionVerifierSettings, param="api")
