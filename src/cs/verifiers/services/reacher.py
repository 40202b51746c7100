"""Reacher's HTTP API, of an instance of one's own or hosted: what it found over SMTP.

Its word ("safe", "risky", "invalid") is not enough: known servers make it say "safe" of
addresses that nothing proves, so the findings beneath must all agree.  Sender, HELO and
time-out are the instance's; in a request they are ignored without a proxy.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from cs.plugins.hosted import (
    Adapter,
    HostedSettings,
    HostedVerifier,
    Question,
    ServiceVerdict,
    Verdict,
    said,
    word,
)
from cs.plugins.verifiers import VerifierContext, takes


class ReacherSettings(HostedSettings, frozen=True, kw_only=True):
    """Settings of ``[verifiers.reacher]``; ``key`` only if the instance has a secret."""

    url: Annotated[
        str,
        Meta(pattern=r"^(https?://\S+)?$", description="with its version: …/v1; empty: off"),
    ] = ""
    key_header: Annotated[
        str,
        Meta(pattern=r"^[A-Za-z0-9-]+\Z", description="authorization for the hosted service"),
    ] = "x-reacher-secret"
    calls_per_s: Annotated[float, Meta(gt=0, le=1000)] = 1.0
    burst: Annotated[int, Meta(ge=1, le=1000)] = 5


class _ReacherPart(msgspec.Struct):
    """A part of the answer; an ``error`` stands in the place of its findings."""

    error: object = None


class _Misc(_ReacherPart):
    is_disposable: bool | None = None


class _Mx(_ReacherPart):
    accepts_mail: bool | None = None


class _Smtp(_ReacherPart):
    can_connect_smtp: bool | None = None
    has_full_inbox: bool | None = None
    is_catch_all: bool | None = None
    is_deliverable: bool | None = None
    is_disabled: bool | None = None


class _Syntax(_ReacherPart):
    is_valid_syntax: bool | None = None


class ReacherAnswer(msgspec.Struct):
    is_reachable: str
    misc: _Misc = msgspec.field(default_factory=_Misc)
    mx: _Mx = msgspec.field(default_factory=_Mx)
    smtp: _Smtp = msgspec.field(default_factory=_Smtp)
    syntax: _Syntax = msgspec.field(default_factory=_Syntax)


def read(answer: ReacherAnswer) -> ServiceVerdict:
    """Return what Reacher says of an address."""
    smtp, reachable = answer.smtp, answer.is_reachable
    told = (
        f"is_reachable={word(reachable)} accepts_mail={answer.mx.accepts_mail} "
        f"can_connect_smtp={smtp.can_connect_smtp} is_deliverable={smtp.is_deliverable} "
        f"is_catch_all={smtp.is_catch_all} has_full_inbox={smtp.has_full_inbox} "
        f"is_disabled={smtp.is_disabled}"
    )
    return said(_verdict(answer), reachable, told=told)


def _verdict(answer: ReacherAnswer) -> Verdict:
    smtp, reachable = answer.smtp, answer.is_reachable
    parts = (answer.misc, answer.mx, smtp, answer.syntax)
    if any(part.error is not None for part in parts):
        return Verdict.UNKNOWN
    if answer.syntax.is_valid_syntax is False:
        return Verdict.UNDELIVERABLE
    if answer.mx.accepts_mail is False:
        # It has no MX records: also where DNS did not answer (Reacher's core/src/mx), and a
        # domain without them may take mail all the same (RFC 5321, section 5.1).
        return Verdict.UNKNOWN
    if smtp.is_catch_all:
        return Verdict.CATCH_ALL
    if smtp.has_full_inbox:
        return Verdict.MAILBOX_FULL
    if not (smtp.can_connect_smtp and answer.mx.accepts_mail):
        return Verdict.UNKNOWN
    if smtp.is_disabled or (reachable == "invalid" and smtp.is_deliverable is False):
        return Verdict.UNDELIVERABLE
    proved = (
        reachable == "safe"
        and smtp.is_deliverable is True
        and smtp.is_catch_all is False
        and not answer.misc.is_disposable
    )
    return Verdict.DELIVERABLE if proved else Verdict.UNKNOWN


ADAPTER = Adapter(
    name="reacher",
    settings=ReacherSettings,
    question=lambda address: Question(path="/check_email", json={"to_email": address}),
    answer=ReacherAnswer,
    read=read,
    needs_key=False,  # an instance of one's own may have none
)


@takes(ReacherSettings)
def from_context(context: VerifierContext) -> HostedVerifier[ReacherAnswer] | None:
    settings = msgspec.convert(context.settings, ReacherSettings)
    return msgspec.structs.replace(ADAPTER, key_header=settings.key_header).make(context)
