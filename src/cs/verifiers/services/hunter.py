"""Hunter's e-mail verifier (API v2): a status, and whether the domain accepts everybody.

403 is its rate limit and 429 means that the credits are used up, the other way round than
elsewhere.  202: it is still looking; the same question is asked again.  451: it may not tell
of this person, who is then suppressed.
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
    with_key,
    word,
)

NAME = "hunter"
#: It names no wait: 10 calls a second and 300 a minute are what it allows.
_RATE_PAUSE_S = 10.0


class HunterVerifierSettings(HostedSettings, frozen=True, kw_only=True):
    """What ``[verifiers.hunter]`` takes; a call is a credit."""

    url: str = "https://api.hunter.io/v2"
    calls_per_s: Annotated[float, Meta(gt=0, le=10)] = 5.0
    burst: Annotated[int, Meta(ge=1, le=10)] = 5
    usd_per_call: Annotated[float, Meta(ge=0, le=1000)] = 0.01


class _Mailbox(msgspec.Struct):
    status: str
    accept_all: bool | None = None
    disposable: bool | None = None
    webmail: bool | None = None
    block: bool | None = None
    smtp_check: bool | None = None


class HunterAnswer(msgspec.Struct):
    data: _Mailbox


def read(answer: HunterAnswer) -> ServiceVerdict:
    """Return what Hunter says of an address."""
    found = answer.data
    told = (f"status={word(found.status)} accept_all={found.accept_all} block={found.block}",)
    reason = f"said-{word(found.status)}"
    if found.accept_all or found.status == "accept_all":
        return ServiceVerdict(Verdict.CATCH_ALL, "catch-all", catch_all=True, told=told)
    match found.status:
        case "valid" if found.accept_all is False and not (found.block or found.disposable):
            return ServiceVerdict(Verdict.DELIVERABLE, reason, catch_all=False, told=told)
        case "invalid" | "disposable":
            return ServiceVerdict(Verdict.UNDELIVERABLE, reason, told=told)
        case "webmail" if found.smtp_check is False:
            return ServiceVerdict(Verdict.UNDELIVERABLE, reason, told=told)
        case _:  # a "valid" that hides what the domain does, a free mailbox, "unknown"
            return ServiceVerdict(Verdict.UNKNOWN, reason, told=told)


def judge(answer: Response) -> ServiceProblem | None:
    """Return the problem that a status of Hunter's means."""
    if answer.status == 403:
        why = f"{NAME} asks us to come back later (403)"
        return problem(ProblemKind.RATE_LIMITED, why, _RATE_PAUSE_S)
    if answer.status == 429:
        return problem(ProblemKind.NO_CREDITS, f"{NAME} has no credits left (429)")
    return None


ADAPTER = Adapter(
    name=NAME,
    question=lambda address: Question(path="/email-verifier", params={"email": address}),
    answer=HunterAnswer,
    read=read,
    judge=judge,
)

from_context = with_key(ADAPTER, HunterVerifierSettings, header="X-API-KEY")
