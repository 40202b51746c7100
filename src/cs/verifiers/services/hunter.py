"""Hunter's e-mail verifier (API v2): a status, and whether the domain accepts every address.

403 is its rate limit and 429 means that the credits are used up, the other way round than
elsewhere.  It allows 10 calls a second and 300 a minute, and names no wait.  202: it is still
looking; the same question is asked again.  451: it may not tell of this person, who is then
suppressed.
"""

from typing import Annotated

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


class HunterVerifierSettings(HostedSettings, frozen=True, kw_only=True):
    """Settings of ``[verifiers.hunter]``; a call is a credit."""

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
    """Return what Hunter says of an address.

    Unknown are a "valid" that hides what the domain does, and a free mailbox.
    """
    found = answer.data
    told = f"status={word(found.status)} accept_all={found.accept_all} block={found.block}"
    if found.accept_all or found.status == "accept_all":
        return said(Verdict.CATCH_ALL, told=told)
    match found.status:
        case "valid" if found.accept_all is False and not (found.block or found.disposable):
            return said(Verdict.DELIVERABLE, found.status, told=told, catch_all=False)
        case "invalid" | "disposable":
            verdict = Verdict.UNDELIVERABLE
        case "webmail" if found.smtp_check is False:
            verdict = Verdict.UNDELIVERABLE
        case _:
            verdict = Verdict.UNKNOWN
    return said(verdict, found.status, told=told)


ADAPTER = Adapter(
    name="hunter",
    settings=HunterVerifierSettings,
    key_header="X-API-KEY",
    question=lambda address: Question(path="/email-verifier", params={"email": address}),
    answer=HunterAnswer,
    read=read,
    statuses={403: ProblemKind.RATE_LIMITED, 429: ProblemKind.NO_CREDITS},
)
from_context = ADAPTER.from_context
