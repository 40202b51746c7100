"""Mail servers as their makers and operators set them up, and the verdicts that are right.

In each, "jo" is meant to be a person and "al" nobody; they are asked about in this order.
Verdicts follow the table of docs/verifiers.md; reasons are left open.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from cs.domain.mail.mailbox import Verdict
from verifiers.smtp.mail_world import DOMAIN, PATIENT, mail_world
from verifiers.smtp.smtp_servers import (
    CLOSE,
    NO_SUCH_USER,
    OK,
    Answer,
    Hostile,
    Rcpt,
    Reply,
    Script,
    Thinks,
    people,
    said_to,
)

Y, N, ALL, FULL, OPEN = (
    Verdict.DELIVERABLE,
    Verdict.UNDELIVERABLE,
    Verdict.CATCH_ALL,
    Verdict.MAILBOX_FULL,
    Verdict.UNKNOWN,
)


@dataclass(frozen=True)
class RealCase:
    """Exchangers in order of preference (``None``: nobody listens there), and the verdicts."""

    exchangers: tuple[Script | None, ...]
    jo: Verdict
    al: Verdict
    mail_from: str = "check@verify.test"
    records: Mapping[str, Mapping[str, list[str]]] | None = None  # in the place of those made


def one(rcpt: Answer, jo: Verdict, al: Verdict, **script: Any) -> RealCase:
    return RealCase((Script(rcpt, **script),), jo, al)


def knows_jo(refusal: str) -> Answer:
    return people("jo", refusal=refusal)


def everybody(reply: Reply) -> Answer:
    return said_to({}, reply)


def after(most: int, reply: Reply) -> Answer:
    """Answer *reply* to whoever is not among the first *most* of a session."""

    def answer(rcpt: Rcpt) -> Reply:
        return reply if rcpt.in_session > most else people("jo")(rcpt)

    return answer


def in_session(accepts_all: Callable[[Rcpt], bool]) -> Answer:
    def answer(rcpt: Rcpt) -> Reply:
        return OK if accepts_all(rcpt) else people("jo")(rcpt)

    return answer


def raw(accepted: bytes, refused: bytes) -> Answer:
    """Answer in bytes of the server's own, line ends and all."""

    def answer(rcpt: Rcpt) -> Reply:
        return Hostile(accepted if rcpt.local == "jo" else refused, shut=False)

    return answer


HONEST = Script(people("jo"))
ACCEPTS_ALL = Script(everybody(OK))
MX1 = f"mx1.{DOMAIN}"

REAL_SERVERS: dict[str, RealCase] = {
    "postfix greylists MAIL": one(
        people("jo"), OPEN, OPEN, mail="451 4.7.1 Greylisting in action, please come back later"
    ),
    "a policy code for everybody but people": one(
        knows_jo("550 5.7.1 No such user!"), OPEN, OPEN
    ),
    "a refusal without a reason": one(knows_jo("554 Transaction failed"), OPEN, OPEN),
    "another language, UTF-8": one(
        knows_jo("550 5.1.1 用户不存在"), Y, N, ehlo="250-mx.test\n250-8BITMIME\n250 SMTPUTF8"
    ),
    "252 for a person": one(said_to({"jo": "252 2.1.5 Cannot VRFY user"}), OPEN, N),
    "not provisioned": one(everybody(NO_SUCH_USER), N, N),
    # Sessions.
    "a banner that comes late": one(
        people("jo"), Y, N, banner=Thinks("220-mx.test\n220 go", 0.05)
    ),
    "452 after one": one(after(1, "452 4.5.3 Too many recipients"), Y, N),
    "452 after three": one(after(3, "452 4.5.3 Too many recipients"), Y, N),
    "421 after one": one(after(1, "421 4.7.0 mx.test closing connection"), Y, N),
    "closes after two": one(after(2, CLOSE), Y, N),
    "a policy of one recipient": one(
        after(1, "550 5.7.1 Only one recipient accepted"), OPEN, OPEN
    ),
    "accepts the first, refuses the second": one(
        lambda rcpt: OK if rcpt.in_session == 1 else NO_SUCH_USER.format(rcpt.address), ALL, ALL
    ),
    "every other machine accepts everybody, and is first": one(
        in_session(lambda rcpt: rcpt.session % 2 == 1), ALL, ALL
    ),
    "accepts everybody from the fourth on": one(
        in_session(lambda rcpt: rcpt.in_session > 3), Y, N
    ),
    "one session at a time": one(
        people("jo"), Y, N, at_once=1, quit=Thinks("221 2.0.0 Bye", 0.02)
    ),
    # Lines.
    "ends lines with a line feed": one(raw(b"250 ok\n", b"550 5.1.1 User unknown\n"), Y, N),
    "ends lines twice": one(raw(b"250 2.1.5 Ok\r\r\n", b"550 5.1.1 User unknown\r\r\n"), Y, N),
    "latin-1": one(
        raw(b"250 2.1.5 angenommen\r\n", b"550 5.1.1 Empf\xe4nger unbekannt\r\n"), Y, N
    ),
    # Greeting and TLS.
    "EHLO refused, HELO taken": one(
        people("jo"), Y, N, ehlo="550 5.7.1 EHLO not supported here"
    ),
    "closes at EHLO": one(people("jo"), OPEN, OPEN, ehlo=CLOSE),
    "recipients only over TLS": one(
        lambda rcpt: (
            people("jo")(rcpt)
            if rcpt.encrypted
            else "530 5.7.0 Must issue a STARTTLS command first"
        ),
        Y,
        N,
        ehlo="250-mx.test\n250 STARTTLS",
    ),
    "no null sender": RealCase(
        (Script(people("jo"), mail="550 5.7.1 Null sender not accepted here"),),
        OPEN,
        OPEN,
        mail_from="",
    ),
    # Several exchangers.
    "the first refuses us, the second accepts anybody": RealCase(
        (Script(people("jo"), banner="554 5.7.1 blocked"), ACCEPTS_ALL), OPEN, OPEN
    ),
    "the first is no mail server, the second honest": RealCase(
        (Script(people("jo"), banner="521 5.3.2 does not accept mail"), HONEST), Y, N
    ),
    "the first has trouble, the second is honest": RealCase(
        (Script(everybody("451 4.3.0 Temporary lookup failure")), HONEST), Y, N
    ),
    "the first is dead, the second honest": RealCase((None, HONEST), Y, N),
    "the first is honest, the second accepts anybody": RealCase((HONEST, ACCEPTS_ALL), Y, N),
    "the first accepts anybody, the second is honest": RealCase(
        (ACCEPTS_ALL, HONEST), ALL, ALL
    ),
    "three say nothing of the recipient": RealCase(
        (
            Script(everybody("451 4.3.0 lookup error")),
            Script(people("jo"), banner="554 5.7.1 blocked"),
            Script(everybody("554 5.4.1 Relay access denied")),
            HONEST,
        ),
        Y,
        N,
    ),
    "the first knows nobody": RealCase((Script(everybody(NO_SUCH_USER)), HONEST), N, N),
    # DNS.
    "an exchanger at 0.0.0.0": RealCase(
        (HONEST,), OPEN, OPEN, records={MX1: {"A": ["0.0.0.0"]}}
    ),
    "an exchanger of IPv6, at loopback": RealCase(
        (HONEST,), OPEN, OPEN, records={MX1: {"AAAA": ["::1"]}}
    ),
    "an exchanger by another name": RealCase(
        (HONEST,),
        Y,
        N,
        records={MX1: {"CNAME": ["real.mx.test."]}, "real.mx.test": {"A": ["127.77.25.1"]}},
    ),
    "no exchanger but an address": RealCase(
        (HONEST,), Y, N, records={DOMAIN: {"A": ["127.77.25.1"]}}
    ),
}


async def verdicts(case: RealCase) -> tuple[Verdict, ...]:
    async with mail_world() as world:
        for number, script in enumerate(case.exchangers, 1):
            if script is None:
                world.dead_exchanger(preference=10 * number)
            else:
                await world.exchanger(script, preference=10 * number)
        for name, records in (case.records or {}).items():
            world.zone.records[name] = dict(records)
        verifier = world.verifier(**PATIENT, mail_from=case.mail_from)
        found, _ = await world.check("jo", "al", verifier=verifier)
        return tuple(each.verdict for each in found)


@pytest.mark.slow
async def test_servers_as_they_are_set_up_get_the_right_verdicts() -> None:
    """One test for all: what is wrong is listed, a false `deliverable` first."""
    found = {name: await verdicts(case) for name, case in REAL_SERVERS.items()}

    wrong = {
        name: verdict
        for name, verdict in found.items()
        if verdict != (REAL_SERVERS[name].jo, REAL_SERVERS[name].al)
    }
    false = [
        name
        for name, (jo, al) in found.items()
        if al is Y or (jo is Y and REAL_SERVERS[name].jo is not Y)
    ]
    assert len(found) >= 30
    assert false == []
    assert wrong == {}
