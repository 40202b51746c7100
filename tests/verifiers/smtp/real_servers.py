"""Mail servers as their makers and operators set them up, and the verdicts that are right.

In each, "jo" is meant to be a person and "al" nobody; they are asked about in this order.
Verdicts follow the table of docs/verifiers.md; reasons are left open.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cs.domain.mail.mailbox import Verdict
from verifiers.smtp.mail_world import DOMAIN
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


def first_time(reply: str) -> Answer:
    def answer(rcpt: Rcpt) -> Reply:
        return people("jo")(rcpt) if rcpt.seen_before else reply.format(rcpt.address)

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
    "exchange online with its directory": one(
        knows_jo(
            "550 5.4.1 Recipient address rejected: Access denied. For more information see "
            "https://aka.ms/EXOSmtpErrors [DU2PEPF.eop-EUR02.prod.protection.outlook.com]"
        ),
        Y,
        N,
    ),
    "exchange online without": one(everybody("250 2.1.5 Recipient OK"), ALL, ALL),
    "exchange online refuses our address": one(
        everybody("550 5.7.606 Access denied, banned sending IP [192.0.2.1]"), OPEN, OPEN
    ),
    "exchange online is busy": one(
        everybody("451 4.7.500 Server busy. Please try again later from [192.0.2.1]."),
        OPEN,
        OPEN,
    ),
    "exchange on premises": one(
        knows_jo("550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found"), Y, N
    ),
    "outlook.com": one(
        knows_jo("550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302)."),
        Y,
        N,
    ),
    "google, over quota": one(
        said_to(
            {
                "jo": "452-4.2.2 The recipient's inbox is out of storage space.\n"
                "452 4.2.2  https://support.google.com/mail/?p=OverQuotaTemp a1 - gsmtp"
            }
        ),
        FULL,
        N,
    ),
    "google, too much at once": one(
        said_to(
            {
                "jo": "450-4.2.1 The user you are trying to contact is receiving mail at a "
                "rate that\n450 4.2.1 prevents additional messages from being delivered."
            }
        ),
        OPEN,
        N,
    ),
    "google, disabled": one(
        said_to({"jo": "550 5.2.1 The email account that you tried to reach is disabled."}),
        N,
        N,
    ),
    "proofpoint": one(
        knows_jo("550 5.1.1 <{}>: Recipient address rejected: User unknown"),
        Y,
        N,
        banner="220 mx0a-00112233.pphosted.com ESMTP mfa-m0012233",
    ),
    "proofpoint refuses us": one(
        people("jo"),
        OPEN,
        OPEN,
        banner="554 Blocked - see https://ipcheck.proofpoint.com/?ip=192.0.2.1",
    ),
    "mimecast": one(
        knows_jo("550 Invalid Recipient - https://community.mimecast.com/docs/DOC-1369#550"),
        Y,
        N,
    ),
    "mimecast, greylisted": one(
        first_time("451 Internal resource temporarily unavailable - https://mimecast.example"),
        OPEN,
        OPEN,
    ),
    "barracuda": one(
        knows_jo("550 cuda_nsu <{}>: Recipient address rejected: No such user"), Y, N
    ),
    "barracuda refuses us": one(
        everybody("554 Service unavailable; Client host [192.0.2.1] blocked using Barracuda"),
        OPEN,
        OPEN,
    ),
    "postgrey": one(
        first_time("450 4.2.0 <{}>: Recipient address rejected: Greylisted, see http://a.test"),
        OPEN,
        OPEN,
    ),
    "postfix greylists MAIL": one(
        people("jo"), OPEN, OPEN, mail="451 4.7.1 Greylisting in action, please come back later"
    ),
    "postfix finds out itself": one(
        first_time("450 4.1.1 <{}>: unverified address: Address verification in progress"),
        OPEN,
        OPEN,
    ),
    "postfix found out": one(
        knows_jo(
            "550 5.1.1 <{}>: Recipient address rejected: undeliverable address: host "
            "mail.inner.test[10.0.0.1] said: 550 5.1.1 User unknown (in reply to RCPT TO)"
        ),
        Y,
        N,
    ),
    "exim": one(people("jo", "postmaster", refusal="550 Unrouteable address"), Y, N),
    "exim cannot find out": one(
        everybody("451 Could not complete recipient verify callout"), OPEN, OPEN
    ),
    "exim calls our sender back": one(
        everybody(
            "550-Verification failed for <check@verify.test>\n550-Called:   192.0.2.1\n"
            "550-Sent:     RCPT TO:<check@verify.test>\n550-Response: 550 5.1.1 User unknown\n"
            "550 Sender verify failed"
        ),
        OPEN,
        OPEN,
    ),
    "exim asks who is behind": one(
        people(
            "jo",
            "postmaster",
            refusal="550-Callout verification failed:\n550 550 5.1.1 <{}> User unknown",
        ),
        Y,
        N,
    ),
    "qmail bounces later": one(everybody("250 ok"), ALL, ALL),
    "qmail with chkuser": one(
        knows_jo("511 sorry, no mailbox here by that name (#5.1.1 - chkuser)"), Y, N
    ),
    "qmail does not know the domain": one(
        everybody("553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)"),
        OPEN,
        OPEN,
    ),
    "sendmail": one(knows_jo("550 5.1.1 <{}>... User unknown"), Y, N),
    "sendmail queues": one(
        said_to({"jo": "250 2.1.5 <{}>... Recipient ok (will queue)"}), Y, N
    ),
    "cpanel": one(knows_jo("550 No Such User Here"), Y, N),
    "mail.ru": one(
        knows_jo(
            "550 Message was not accepted -- invalid mailbox. Local mailbox {} is unavailable: "
            "user not found"
        ),
        Y,
        N,
    ),
    "a policy code for everybody but people": one(
        knows_jo("550 5.7.1 No such user!"), OPEN, OPEN
    ),
    "a refusal without a reason": one(knows_jo("554 Transaction failed"), OPEN, OPEN),
    "another language, UTF-8": one(
        knows_jo("550 5.1.1 用户不存在"), Y, N, ehlo="250-mx.test\n250-8BITMIME\n250 SMTPUTF8"
    ),
    "another language, without a code": one(
        people("jo", "postmaster", refusal="550 Dieser Empfänger existiert hier nicht"), Y, N
    ),
    "refuses us in German": one(
        everybody("550 Ihre IP-Adresse steht auf einer Sperrliste"), OPEN, OPEN
    ),
    "refuses us in Chinese": one(everybody("550 您的IP地址已被列入黑名单"), OPEN, OPEN),
    "refuses us in Turkish": one(everybody("554 IP adresiniz kara listede"), OPEN, OPEN),
    "refuses us in Polish": one(
        everybody("554 Twój adres IP znajduje się na czarnej liście"), OPEN, OPEN
    ),
    "full, in German": one(
        said_to({"jo": "552 Das Postfach des Empfängers ist voll", "postmaster": OK}), FULL, N
    ),
    "user not local": one(
        people("jo", "postmaster", refusal="551 User not local; please try <x@other.test>"),
        Y,
        N,
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
    "every other machine accepts everybody": one(
        in_session(lambda rcpt: rcpt.session % 2 == 0), ALL, ALL
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
    "many lines": one(
        people("jo", refusal="550-5.1.1 No such user.\n550-5.1.1\n550 5.1.1 See a.test/nosuch"),
        Y,
        N,
    ),
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
    "TLS for now not to be had": one(
        people("jo"),
        Y,
        N,
        ehlo="250-mx.test\n250 STARTTLS",
        starttls="454 4.7.0 TLS not available due to temporary reason",
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
    "the first knows nobody": RealCase((Script(everybody(NO_SUCH_USER)), HONEST), N, N),
    # DNS.
    "null MX": RealCase((HONEST,), N, N, records={DOMAIN: {"MX": ["0 ."]}}),
    "an exchanger at 0.0.0.0": RealCase(
        (HONEST,), OPEN, OPEN, records={MX1: {"A": ["0.0.0.0"]}}
    ),
    "an exchanger at a private address": RealCase(
        (HONEST,), OPEN, OPEN, records={MX1: {"A": ["10.1.2.3"]}}
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
