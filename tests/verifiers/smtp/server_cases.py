"""Mail servers of every kind we know of, as scripts, and what must be found out.

In each, "jo" is meant to be a person and "al" nobody.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cs.domain.mail.mailbox import Verdict
from cs.verifiers.smtp.probe import probe_names
from verifiers.smtp.mail_world import DOMAIN
from verifiers.smtp.smtp_servers import (
    CLOSE,
    NO_SUCH_USER,
    OK,
    SILENCE,
    Answer,
    Hostile,
    Rcpt,
    Reply,
    Script,
    Thinks,
    people,
    said_to,
)

V = Verdict
PROBES = probe_names(DOMAIN)
GREY = "450 4.2.0 <{}>: Recipient address rejected: Greylisted, try again in 5 minutes"


def everybody(reply: Reply) -> Answer:
    return said_to({}, reply)


def one_a_session(rcpt: Rcpt) -> Reply:
    return "452 4.5.3 Too many recipients" if rcpt.in_session > 1 else people("jo")(rcpt)


def greylists_first(rcpt: Rcpt) -> Reply:
    return people("jo")(rcpt) if rcpt.seen_before else GREY.format(rcpt.address)


def validates_then_greylists(rcpt: Rcpt) -> Reply:
    if rcpt.local != "jo":
        return NO_SUCH_USER.format(rcpt.address)
    return OK if rcpt.seen_before else GREY.format(rcpt.address)


def hangs_up_after_refusal(rcpt: Rcpt) -> Reply:
    if rcpt.in_session > 1:
        return CLOSE
    return people("jo")(rcpt)


def accepts_later_sessions(rcpt: Rcpt) -> Reply:
    return NO_SUCH_USER.format(rcpt.address) if rcpt.session == 1 else OK


def accepts_second_in_session(rcpt: Rcpt) -> Reply:
    return OK if rcpt.in_session > 1 else NO_SUCH_USER.format(rcpt.address)


def accepts_all_after_one(rcpt: Rcpt) -> Reply:
    if rcpt.local == "jo":
        return OK
    return OK if rcpt.session > 1 and rcpt.in_session > 1 else NO_SUCH_USER.format(rcpt.address)


def bare_and_hangs_up(rcpt: Rcpt) -> Reply:
    return Hostile(b"550\r\n") if rcpt.local == "al" else people("jo", "postmaster")(rcpt)


def refuses_after_two(rcpt: Rcpt) -> Reply:
    if rcpt.in_session > 2:
        return "421 4.7.0 too many errors"
    return people("jo")(rcpt)


PLAIN = people("jo")
POSTMASTER = people("jo", "postmaster", refusal="550 No such user here")


def knows_jo(refusal: str) -> Answer:
    return people("jo", refusal=refusal)


def after(most: int, reply: Reply) -> Answer:
    """Answer *reply* to every recipient of a session after the first *most*."""

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


#: A verdict and its reason, if that matters.
Found = tuple[Verdict, str | None]


@dataclass(frozen=True)
class Case:
    """Exchangers in order of preference (``None``: none listens there), and what is found out.

    Attributes:
        settings: Of the verifier.
        records: In place of those that name the exchangers.
    """

    exchangers: tuple[Script | None, ...]
    jo: Found
    al: Found
    settings: Mapping[str, Any] = field(default_factory=dict)
    records: Mapping[str, Mapping[str, list[str]]] = field(default_factory=dict)


def case(rcpt: Answer, jo: Found, al: Found, **script: Any) -> Case:
    return Case((Script(rcpt, **script),), jo, al)


YES = (V.DELIVERABLE, "recipient-accepted")
NO = (V.UNDELIVERABLE, "recipient-refused")
ALL = (V.CATCH_ALL, "catch-all")
DUNNO = V.UNKNOWN
OPEN, ANY = (V.UNKNOWN, None), (V.CATCH_ALL, None)
HONEST, ACCEPTS_ALL = Script(PLAIN), Script(everybody(OK))
MX1 = f"mx1.{DOMAIN}"


def unclear(why: str) -> dict[str, Found]:
    return {"jo": (V.UNKNOWN, why), "al": (V.UNKNOWN, why)}


SERVERS: dict[str, Case] = {
    # Plain.
    "postfix": case(PLAIN, YES, NO),
    "exim": case(POSTMASTER, YES, NO),
    "exchange online": case(
        people("jo", refusal="550 5.4.1 Recipient address rejected: Access denied. AS(2018)"),
        YES,
        NO,
    ),
    "qmail": case(
        people("jo", "postmaster", refusal="550 sorry, no mailbox here by that name. (#5.1.1)"),
        YES,
        NO,
    ),
    "google": case(
        people("jo", refusal="550-5.1.1 The email account does not exist.\n550 5.1.1 - gsmtp"),
        YES,
        NO,
    ),
    "251 will forward": case(said_to({"jo": "251 will forward"}), YES, NO),
    "no EHLO": case(PLAIN, YES, NO, ehlo="502 5.5.2 Command not implemented"),
    "no EHLO, 500": case(PLAIN, YES, NO, ehlo="500 what?"),
    "banner of many lines": case(PLAIN, YES, NO, banner="220-hello\n220-there\n220 go"),
    "bare line feeds": case(PLAIN, YES, NO, banner=Hostile(b"220 hi\n", shut=False)),
    "latin-1 banner": case(
        PLAIN, YES, NO, banner=Hostile("220 Grüße\r\n".encode("latin-1"), shut=False)
    ),
    "a line of 700 bytes": case(
        PLAIN, YES, NO, banner=Hostile(b"220 " + b"x" * 700 + b"\r\n", shut=False)
    ),
    "99 lines": case(PLAIN, YES, NO, banner="220-hello\n" * 99 + "220 go"),
    "no answer to QUIT": case(PLAIN, YES, NO, quit=SILENCE),
    "closes at QUIT": case(PLAIN, YES, NO, quit=CLOSE),
    "error at QUIT": case(PLAIN, YES, NO, quit="500 what?"),
    "one recipient a session": case(one_a_session, YES, NO),
    "hangs up after one": case(hangs_up_after_refusal, YES, NO),
    "421 after two": case(refuses_after_two, YES, NO),
    "domain called mailbox full": case(
        people("jo", "postmaster", refusal="550 <{}> in mailbox-full.acme.test: no such user"),
        YES,
        NO,
    ),
    # TLS.
    "STARTTLS": case(PLAIN, YES, NO, ehlo="250-mx.test\n250 STARTTLS"),
    "STARTTLS refused": case(
        PLAIN,
        YES,
        NO,
        ehlo="250-mx.test\n250 STARTTLS",
        starttls="454 4.7.0 TLS not available",
    ),
    "STARTTLS fails": case(PLAIN, YES, NO, ehlo="250-mx\n250 STARTTLS", handshake=False),
    "STARTTLS demanded": case(
        PLAIN,
        YES,
        NO,
        ehlo="250 mx.test",
        mail_needs_tls="530 5.7.0 Must issue a STARTTLS command first",
    ),
    "STARTTLS demanded and broken": case(
        PLAIN,
        (DUNNO, "tls"),
        (DUNNO, "tls"),
        ehlo="250 mx.test",
        mail_needs_tls="530 5.7.0 Must issue a STARTTLS command first",
        handshake=False,
    ),
    "STARTTLS demanded, not given": case(
        PLAIN,
        (DUNNO, "starttls-required"),
        (DUNNO, "starttls-required"),
        ehlo="250 mx.test",
        mail_needs_tls="530 5.7.0 Must issue a STARTTLS command first",
        starttls="502 5.5.1 no",
    ),
    # Accepts everybody.
    "catch-all": case(everybody(OK), ALL, ALL),
    "catch-all for names": case(lambda r: OK if "." in r.local else PLAIN(r), ALL, ALL),
    "catch-all for letters and digits": case(
        lambda r: OK if any(c.isdigit() for c in r.local) else PLAIN(r), ALL, ALL
    ),
    "catch-all from the second on": case(accepts_second_in_session, ALL, ALL),
    "accepts all in later sessions": case(
        accepts_later_sessions, (V.CATCH_ALL, "accepts-anybody"), ALL
    ),
    "accepts all after one accepted": case(
        accepts_all_after_one, (V.CATCH_ALL, "accepts-anybody"), ALL
    ),
    "catch-all that is full": case(
        everybody("552 5.2.2 mailbox full"),
        (V.UNKNOWN, "refused-like-postmaster"),
        (V.UNKNOWN, "refused-like-postmaster"),
    ),
    "252 for everybody": case(everybody("252 2.1.5 cannot verify"), **unclear("cannot-verify")),
    # About the recipient.
    "full": case(
        said_to({"jo": "452 4.2.2 over quota", "al": "550 5.1.1 unknown"}),
        (V.MAILBOX_FULL, "mailbox-full"),
        NO,
    ),
    "full for long": case(
        said_to({"jo": "552 5.2.2 over quota", "postmaster": OK}),
        (V.MAILBOX_FULL, "mailbox-full"),
        NO,
    ),
    "disabled": case(
        said_to({"jo": "550 5.2.1 mailbox disabled", "postmaster": OK}),
        (V.UNDELIVERABLE, "disabled"),
        NO,
    ),
    "receives too much": case(
        said_to({"jo": "450 4.2.1 The user is receiving mail at a rate that prevents it"}),
        (V.UNKNOWN, "recipient-busy"),
        NO,
    ),
    "refuses the real one as it does the postmaster": case(
        said_to({"jo": "550 unknown user", "postmaster": "550 unknown user"}),
        (V.UNKNOWN, "refused-like-postmaster"),
        NO,
    ),
    "refuses the postmaster in other words": case(
        said_to({"jo": "550 unknown user", "postmaster": "550 5.7.1 not for you"}),
        NO,
        NO,
    ),
    "bare 550 for all but people": case(
        people("jo", "postmaster", refusal="550"),
        YES,
        (V.UNDELIVERABLE, "bare-refusal"),
    ),
    "bare 550 for all but a person": case(
        people("jo", refusal="550"),
        (DUNNO, "probe-inconclusive"),
        (V.UNDELIVERABLE, "bare-refusal"),
    ),
    "bare 550, and hangs up": case(
        bare_and_hangs_up,
        YES,
        (V.UNDELIVERABLE, "bare-refusal"),
    ),
    "bare 550 for everybody": case(everybody("550"), **unclear("bare-refusal")),
    # Not now.
    "greylists all": case(greylists_first, **unclear("greylisted")),
    "validates, then greylists": case(validates_then_greylists, (V.UNKNOWN, "greylisted"), NO),
    "probe greylisted, people not": case(
        lambda r: OK if r.local == "jo" else GREY.format(r.address),
        (V.UNKNOWN, "probe-inconclusive"),
        (V.UNKNOWN, "greylisted"),
    ),
    "second probe in doubt": case(
        said_to({"jo": OK, PROBES[1]: "451 4.3.0 lookup error"}),
        (V.UNKNOWN, "probe-inconclusive"),
        NO,
    ),
    "verifies upstream": case(
        everybody("450 4.1.1 <{}>: unverified address: Address verification in progress"),
        **unclear("in-progress"),
    ),
    "temporary trouble": case(everybody("451 4.3.0 lookup error"), **unclear("transient")),
    "no room": case(everybody("452 4.3.1 Insufficient system storage"), **unclear("transient")),
    "too many, always": case(
        everybody("452 4.5.3 too many recipients"), **unclear("too-many-recipients")
    ),
    "421 to everybody": case(everybody("421 4.3.2 closing"), **unclear("closing")),
    # About us.
    "banner refuses": case(PLAIN, **unclear("about-us"), banner="554 5.7.1 blocked"),
    "banner busy": case(PLAIN, **unclear("closing"), banner="421 too many connections"),
    "HELO refused": case(
        PLAIN, **unclear("about-us"), ehlo="550 5.7.1 bad name", helo="550 5.7.1 bad name"
    ),
    "sender refused": case(PLAIN, **unclear("sender"), mail="553 5.1.8 sender domain unknown"),
    "sender refused as if a user": case(
        PLAIN, **unclear("about-us"), mail="550 5.1.1 User unknown"
    ),
    "block list at RCPT": case(
        everybody("550 5.7.1 Service unavailable; client host blocked using zen.spamhaus.org"),
        **unclear("about-us"),
    ),
    "policy for some": case(
        said_to({"jo": "550 5.7.1 not accepted from you"}), (V.UNKNOWN, "about-us"), NO
    ),
    "relay denied": case(everybody("554 5.7.1 Relay access denied"), **unclear("about-us")),
    "not hosted": case(everybody("550 5.4.1 Relay access denied"), **unclear("not-hosted")),
    "call-back fails": case(
        everybody("550-Verification failed for <check@verify.test>\n550 Sender verify failed"),
        **unclear("sender"),
    ),
    # Hostile.
    "silent from the start": case(PLAIN, **unclear("timeout"), banner=SILENCE),
    "silent at RCPT": case(everybody(SILENCE), **unclear("timeout")),
    "closes at once": case(PLAIN, **unclear("closed"), banner=CLOSE),
    "closes in the middle of a reply": case(
        everybody(Hostile(b"250-2.1.5 O")), **unclear("closed")
    ),
    "closes between two lines": case(
        everybody(Hostile(b"250-2.1.5 Ok\r\n")), **unclear("closed")
    ),
    "a line without end": case(
        PLAIN, **unclear("protocol"), banner=Hostile(b"220 " + b"x" * 4096, 64)
    ),
    "lines without end": case(
        PLAIN, **unclear("protocol"), banner=Hostile(b"220-more\r\n" * 100, 64)
    ),
    "speaks another protocol": case(
        PLAIN, **unclear("protocol"), banner="HTTP/1.1 400 Bad Request"
    ),
    "two codes in one reply": case(everybody("250-yes\n550 no"), **unclear("protocol")),
    "acceptance that contradicts itself": case(
        said_to({"jo": "250 5.1.1 User unknown"}), (V.UNKNOWN, "unclear"), NO
    ),
    "data prompt for RCPT": case(said_to({"jo": "354 go ahead"}), (V.UNKNOWN, "unclear"), NO),
    "answers before it is asked": case(PLAIN, **unclear("out-of-step"), mail="250 ok\n250 ok"),
    "typos replies in before TLS": case(
        PLAIN,
        **unclear("out-of-step"),
        ehlo="250-mx\n250 STARTTLS",
        starttls=Hostile(b"220 go\r\n250 injected\r\n", shut=False),
    ),
    "welcomes with a good-bye": case(PLAIN, **unclear("protocol"), banner="221 bye"),
    # As their makers and operators set them up.
    "postfix greylists MAIL": case(
        people("jo"), OPEN, OPEN, mail="451 4.7.1 Greylisting in action, please come back later"
    ),
    "a refusal without a reason": case(knows_jo("554 Transaction failed"), OPEN, OPEN),
    "another language, UTF-8": case(
        knows_jo("550 5.1.1 用户不存在"),
        YES,
        NO,
        ehlo="250-mx.test\n250-8BITMIME\n250 SMTPUTF8",
    ),
    "252 for a person": case(said_to({"jo": "252 2.1.5 Cannot VRFY user"}), OPEN, NO),
    "not provisioned": case(everybody(NO_SUCH_USER), NO, NO),
    # Sessions.
    "a banner that comes late": case(
        people("jo"), YES, NO, banner=Thinks("220-mx.test\n220 go", 0.05)
    ),
    "452 after three": case(after(3, "452 4.5.3 Too many recipients"), YES, NO),
    "a policy of one recipient": case(
        after(1, "550 5.7.1 Only one recipient accepted"), OPEN, OPEN
    ),
    "accepts the first, refuses the second": case(
        lambda rcpt: OK if rcpt.in_session == 1 else NO_SUCH_USER.format(rcpt.address), ANY, ANY
    ),
    "every other machine accepts everybody, and is first": case(
        in_session(lambda rcpt: rcpt.session % 2 == 1), ANY, ANY
    ),
    "accepts everybody from the fourth on": case(
        in_session(lambda rcpt: rcpt.in_session > 3), YES, NO
    ),
    # Lines.
    "ends lines twice": case(
        raw(b"250 2.1.5 Ok\r\r\n", b"550 5.1.1 User unknown\r\r\n"), YES, NO
    ),
    # Greeting and TLS.
    "closes at EHLO": case(people("jo"), OPEN, OPEN, ehlo=CLOSE),
    "recipients only over TLS": case(
        lambda rcpt: (
            people("jo")(rcpt)
            if rcpt.encrypted
            else "530 5.7.0 Must issue a STARTTLS command first"
        ),
        YES,
        NO,
        ehlo="250-mx.test\n250 STARTTLS",
    ),
    "no null sender": Case(
        (Script(people("jo"), mail="550 5.7.1 Null sender not accepted here"),),
        OPEN,
        OPEN,
        settings={"mail_from": ""},
    ),
    # Several exchangers.
    "the first refuses us, the second accepts anybody": Case(
        (Script(people("jo"), banner="554 5.7.1 blocked"), ACCEPTS_ALL), OPEN, OPEN
    ),
    "the first is no mail server, the second honest": Case(
        (Script(people("jo"), banner="521 5.3.2 does not accept mail"), HONEST), YES, NO
    ),
    "the first has trouble, the second is honest": Case(
        (Script(everybody("451 4.3.0 Temporary lookup failure")), HONEST), YES, NO
    ),
    "the first is dead, the second honest": Case((None, HONEST), YES, NO),
    "the first is honest, the second accepts anybody": Case((HONEST, ACCEPTS_ALL), YES, NO),
    "the first accepts anybody, the second is honest": Case((ACCEPTS_ALL, HONEST), ANY, ANY),
    "three say nothing of the recipient": Case(
        (
            Script(everybody("451 4.3.0 lookup error")),
            Script(people("jo"), banner="554 5.7.1 blocked"),
            Script(everybody("554 5.4.1 Relay access denied")),
            HONEST,
        ),
        YES,
        NO,
    ),
    "the first knows nobody": Case((Script(everybody(NO_SUCH_USER)), HONEST), NO, NO),
    # DNS.
    "an exchanger at 0.0.0.0": Case((HONEST,), OPEN, OPEN, records={MX1: {"A": ["0.0.0.0"]}}),
    "an exchanger of IPv6, at loopback": Case(
        (HONEST,), OPEN, OPEN, records={MX1: {"AAAA": ["::1"]}}
    ),
    "an exchanger by another name": Case(
        (HONEST,),
        YES,
        NO,
        records={MX1: {"CNAME": ["real.mx.test."]}, "real.mx.test": {"A": ["127.77.25.1"]}},
    ),
    "no exchanger but an address": Case(
        (HONEST,), YES, NO, records={DOMAIN: {"A": ["127.77.25.1"]}}
    ),
}
