import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cs.domain.mail.mailbox import Verdict
from cs.domain.mail.reply_meaning import (
    REFUSED,
    MalformedReply,
    ReplyKind,
    ReplyMeaning,
    SmtpReply,
    Stage,
    decoded,
    is_last,
    meaning,
    parse,
    retry_hint,
    same_words,
)

DOMAIN = "acme.example"
RECIPIENT = f"jo.lane@{DOMAIN}"
SENDER = "check@verify.example"
ECHOED = (RECIPIENT, DOMAIN, "mx1.acme.example", "verify.example")
#: A kind of reply, or only the verdict on the mailbox; and the reply.
REPLIES = [
    (about, text.replace(r"\n", "\n"))
    for line in Path(__file__).with_name("replies.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
    for about, _, text in [line.partition(": ")]
]


def reply_of(text: str) -> SmtpReply:
    meant = {"R": RECIPIENT, "D": DOMAIN, "S": SENDER}
    text = re.sub(r"(?<![\w-])[RDS](?![\w-])", lambda letter: meant[letter[0]], text)
    return parse([line.encode() for line in text.split("\n")])


def kind_of(text: str, stage: Stage = "rcpt") -> ReplyKind:
    return meaning(reply_of(text), stage=stage, echoed=ECHOED, sender=SENDER).kind


def verdict_of(text: str) -> Verdict:
    match kind_of(text):
        case ReplyKind.FULL:
            return Verdict.MAILBOX_FULL
        case kind:
            return Verdict.UNDELIVERABLE if kind in REFUSED else Verdict.UNKNOWN


def test_what_replies_of_all_kinds_and_languages_are_about() -> None:
    wrong = {
        text: found
        for about, text in REPLIES
        if about != (found := kind_of(text) if about in set(ReplyKind) else verdict_of(text))
    }

    assert len(REPLIES) > 1_000
    assert wrong == {}


@pytest.mark.parametrize(
    ("text", "stage", "kind"),
    [
        ("220 mx.acme.example ESMTP", "banner", ReplyKind.ACCEPTED),
        ("554 5.7.1 Service unavailable; Client host blocked", "banner", ReplyKind.ABOUT_US),
        ("421 Too many connections", "banner", ReplyKind.CLOSING),
        ("450 4.7.1 Greylisted, try again in 5 minutes", "banner", ReplyKind.GREYLISTED),
        ("550 5.1.1 User unknown", "helo", ReplyKind.ABOUT_US),
        ("502 Command not implemented", "helo", ReplyKind.ABOUT_US),
        (
            "454 4.7.0 TLS not available due to temporary reason",
            "starttls",
            ReplyKind.TRANSIENT,
        ),
        ("550 5.1.1 User unknown", "mail", ReplyKind.ABOUT_US),
        ("550 No such user here", "mail", ReplyKind.ABOUT_US),
        ("552 5.2.2 Mailbox full", "mail", ReplyKind.ABOUT_US),
        ("553 5.1.8 Domain of sender does not exist", "mail", ReplyKind.SENDER),
        ("550 5.1.7 invalid", "mail", ReplyKind.SENDER),
        ("530 5.7.0 Must issue a STARTTLS command first", "mail", ReplyKind.STARTTLS),
        ("451 5.7.3 STARTTLS is required to send mail", "mail", ReplyKind.STARTTLS),
        ("452 4.3.1 Insufficient system storage", "mail", ReplyKind.TRANSIENT),
        ("354 go ahead", "mail", ReplyKind.UNKNOWN),
    ],
)
def test_before_rcpt_nothing_is_about_the_recipient(
    text: str, stage: Stage, kind: ReplyKind
) -> None:
    assert kind_of(text, stage) is kind


@pytest.mark.parametrize(
    "word", ["insufficient-storage", "mailbox-full", "user-unknown", "spam", "greylisted"]
)
@pytest.mark.parametrize(
    "shape",
    [
        "550 <jo@{0}.example>: refused",
        "550 mx1.{0}.example: refused",
        "550 refused for {0}.example",
        "550 JO@{0}.EXAMPLE refused",
    ],
)
def test_a_domain_is_never_read_as_words(word: str, shape: str) -> None:
    reply = parse([shape.format(word).encode()])

    said = meaning(reply, stage="rcpt", echoed=(f"jo@{word}.example", f"mx1.{word}.example"))

    assert said.kind is ReplyKind.UNKNOWN


@pytest.mark.parametrize("local", ["full", "disabled", "no.such.user", "quota"])
def test_a_local_part_is_never_read_as_words(local: str) -> None:
    address = f"{local}@acme.example"

    for text in (f"550 <{local}>: refused", f"550 {address} refused"):
        said = meaning(parse([text.encode()]), stage="rcpt", echoed=(address,))
        assert said.kind is ReplyKind.UNKNOWN


def test_a_mailbox_called_user_does_not_hide_what_is_said_of_it() -> None:
    reply = parse([b"550 user unknown"])

    assert meaning(reply, stage="rcpt", echoed=("user@acme.example",)).kind in REFUSED


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("try again in 5 minutes", 300),
        ("please come back in 00:02:00", 120),
        ("Greylisted for 60 seconds", 60),
        ("retry in 300s", 300),
        ("retry in 4 minutes 30 seconds", 270),
        ("retry in 1 hour and 5 mins", 3900),
        ("wait 90 sec.", 90),
        ("delayed for 2 min(s)", 120),
        ("Try again in 10 Minutes, please", 600),
        ("try again", None),
        ("at 12:30:15 nothing happened", None),
        ("see 4.7.1 s or 10.0.0.5 m", None),
        ("mx5 s", None),
        ("in 0 seconds", None),
        ("in 90000 hours", None),
        ("4 messages, 5 sets", None),
    ],
)
def test_a_hint_is_read_in_seconds(text: str, seconds: int | None) -> None:
    assert retry_hint(text) == seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "450 4.2.0 Greylisted, try again in 5 minutes",
            ReplyMeaning(ReplyKind.GREYLISTED, 300.0),
        ),
        ("450 4.2.0 Greylisted", ReplyMeaning(ReplyKind.GREYLISTED, 60.0)),
        (
            "450 4.1.1 unverified address: in progress",
            ReplyMeaning(ReplyKind.IN_PROGRESS, 15.0),
        ),
        ("552 5.2.2 full, retry in 60 seconds", ReplyMeaning(ReplyKind.FULL)),
        ("452 4.2.2 full, retry in 60 seconds", ReplyMeaning(ReplyKind.FULL)),
        ("450 4.2.1 receiving mail too quickly", ReplyMeaning(ReplyKind.RATE)),
        ("421 busy, try again in 30 seconds", ReplyMeaning(ReplyKind.CLOSING, 30.0)),
        (
            "550 5.1.1 unknown, do not try again in 5 minutes",
            ReplyMeaning(ReplyKind.RECIPIENT_REFUSED),
        ),
        ("250 ok", ReplyMeaning(ReplyKind.ACCEPTED)),
    ],
)
def test_the_time_to_come_back_is_the_servers_or_the_kinds(
    text: str, expected: ReplyMeaning
) -> None:
    assert meaning(parse([text.encode()]), stage="rcpt") == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([b"250 ok\r\n"], SmtpReply(250, None, "ok")),
        ([b"250"], SmtpReply(250, None, "")),
        ([b"250-a\r\n", b"250-b\n", b"250 c"], SmtpReply(250, None, "a b c")),
        ([b"550-5.1.1 no", b"550 5.1.1  one"], SmtpReply(550, "5.1.1", "no one")),
        ([b"550-no", b"550 5.1.1 one"], SmtpReply(550, "5.1.1", "no one")),
        ([b"550 #5.1.0 Address rejected."], SmtpReply(550, "5.1.0", "Address rejected.")),
        ([b"550 no mailbox (#5.1.1)"], SmtpReply(550, "5.1.1", "no mailbox (#5.1.1)")),
        ([b"550 5.1.1: no"], SmtpReply(550, "5.1.1", "no")),
        ([b"550 5.1.1.4 is blocked"], SmtpReply(550, None, "5.1.1.4 is blocked")),
        ([b"550 blocked [5.1.1.4]"], SmtpReply(550, None, "blocked [5.1.1.4]")),
        (["550 Empfänger".encode()], SmtpReply(550, None, "Empfänger")),
        (["550 Empfänger".encode("latin-1")], SmtpReply(550, None, "Empfänger")),
        ([b"550\tno\x00\x1b[31m"], SmtpReply(550, None, "no  [31m")),
    ],
)
def test_a_reply_is_read_whole(lines: list[bytes], expected: SmtpReply) -> None:
    assert parse(lines) == expected


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [b""],
        [b"ok"],
        [b"25 ok"],
        [b"2500 ok"],
        [b"199 no"],
        [b"650 no"],
        [b"250-a"],
        [b"250 a", b"250 b"],
        [b"250-a", b"550 b"],
        ["２５０ ok".encode()],
    ],
)
def test_what_is_no_reply_is_said_to_be_none(lines: list[bytes]) -> None:
    with pytest.raises(MalformedReply):
        parse(lines)


@pytest.mark.parametrize(
    ("line", "last"), [(b"250 ok\r\n", True), (b"250", True), (b"250-ok", False)]
)
def test_the_last_line_is_known(line: bytes, *, last: bool) -> None:
    assert is_last(line) is last


@given(st.binary(max_size=600))
@example(b"\xff\xfe")
def test_any_bytes_become_printable_text(raw: bytes) -> None:
    assert decoded(raw).isprintable()


@given(
    code=st.integers(200, 599),
    enhanced=st.none()
    | st.tuples(st.integers(2, 5), st.integers(0, 9), st.integers(0, 800)).map(
        lambda parts: ".".join(map(str, parts))
    ),
    text=st.sampled_from([text for _, text in REPLIES]) | st.text(max_size=120),
)
def test_whatever_the_words_codes_come_first(
    code: int, enhanced: str | None, text: str
) -> None:
    said = meaning(SmtpReply(code, enhanced, text), stage="rcpt", echoed=ECHOED, sender=SENDER)

    if said.kind is ReplyKind.ACCEPTED:
        assert code in {250, 251}
    if said.kind in REFUSED:
        assert 500 <= code < 600, "a transient reply refused a mailbox"
    if code // 100 == 4:
        assert said.kind not in REFUSED | {ReplyKind.BARE, ReplyKind.ACCEPTED}
    if (enhanced or "").startswith("5.7.") and code // 100 == 5:
        assert said.kind not in REFUSED or enhanced in {"5.7.13", "5.7.17", "5.7.18"}


@given(st.sampled_from([text for _, text in REPLIES]), st.sampled_from(["mail", "banner"]))
def test_no_reply_before_rcpt_says_anything_of_a_mailbox(text: str, stage: Stage) -> None:
    assert kind_of(text, stage) not in REFUSED | {
        ReplyKind.FULL,
        ReplyKind.BARE,
        ReplyKind.RATE,
    }


def test_the_same_words_about_someone_else_are_the_same() -> None:
    echoed = ("jo@acme.example", "postmaster@acme.example")
    one = parse([b"550 5.7.1 <jo@acme.example>: go away [id 4A7f9]"])
    other = parse([b"550 5.7.1 <postmaster@acme.example>: go away [id 81x22]"])

    assert same_words(one, other, echoed)
    assert not same_words(one, parse([b"550 5.7.1 <postmaster@acme.example>: hm"]), echoed)
    assert not same_words(one, parse([b"550 5.1.1 <jo@acme.example>: go away"]), echoed)
