"""What a bounce says of its mailbox: only a statement about the recipient takes it away."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.mail.bounce import Bounce, BounceKind, ToolWord, bounce_meaning

ADDRESS = "jo.lane@acme.example"
GONE, LATER, OTHER = BounceKind.PERMANENT, BounceKind.TEMPORARY, BounceKind.OTHER

#: Status, diagnostic, the tool's word; what follows, and why.
BOUNCES: tuple[tuple[str | None, str, ToolWord | None, BounceKind, str], ...] = (
    ("5.1.1", "", None, GONE, "recipient-refused"),
    ("5.1.10", "", None, GONE, "recipient-refused"),
    ("5.1.2", "", None, GONE, "recipient-refused"),
    ("5.2.1", "", None, GONE, "disabled"),
    ("5.7.13", "", None, GONE, "disabled"),
    (None, "smtp; 550 5.1.1 <jo.lane@acme.example>: User unknown", None, GONE, ""),
    ("5.0.0", "smtp;550 5.1.1 user unknown", ToolWord.HARD, GONE, ""),
    (
        "5.1.1",
        (
            "smtp; 550-5.1.1 The email account that you tried to reach does not exist. Please "
            "try 550-5.1.1 double-checking the recipient's email address for typos or "
            "550 5.1.1 unnecessary spaces. a1-20 - gsmtp"
        ),
        None,
        GONE,
        "recipient-refused",
    ),
    (
        "5.1.10",
        (
            "smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient jo.lane@acme.example "
            "not found by SMTP address lookup"
        ),
        None,
        GONE,
        "",
    ),
    (
        None,
        "host mx1.acme.example[192.0.2.1] said: 550 5.1.1 no such user (in reply to RCPT TO)",
        None,
        GONE,
        "",
    ),
    (None, "smtp; 550 Utilisateur inconnu", None, GONE, ""),
    (None, "smtp; 554 delivery error: dd This user doesn't have an account", None, GONE, ""),
    (None, "", ToolWord.HARD, GONE, "reported-hard"),
    ("5.0.0", "", ToolWord.HARD, GONE, "reported-hard"),
    # Full, busy, put off: it may take mail later.
    ("5.2.2", "", None, LATER, "mailbox-full"),
    ("4.2.2", "smtp; 452 4.2.2 mailbox full", None, LATER, "mailbox-full"),
    (None, "smtp; 552 5.2.2 over quota", ToolWord.HARD, LATER, "mailbox-full"),
    ("4.7.1", "smtp; 451 4.7.1 greylisted, try again later", None, LATER, "greylisted"),
    ("4.4.7", "", None, LATER, "transient"),
    ("4.4.1", "connection timed out", ToolWord.SOFT, LATER, ""),
    (None, "", ToolWord.SOFT, LATER, "reported-soft"),
    # About the sender, its message or its ways: nothing of the mailbox.
    ("5.7.1", "smtp; 550 5.7.1 message rejected as spam", None, OTHER, "about-us"),
    ("5.7.26", "smtp;550-5.7.26 unauthenticated mail", None, OTHER, "about-us"),
    (None, "smtp; 554 5.7.1 Service unavailable; Client host blocked", None, OTHER, ""),
    (None, "smtp; 550 High probability of spam", ToolWord.HARD, OTHER, ""),
    (None, "", ToolWord.BLOCK, OTHER, "reported-block"),
    ("5.3.4", "message too big", None, OTHER, ""),
    ("5.6.0", "", ToolWord.HARD, OTHER, "unclear"),
    ("5.1.8", "smtp; 553 5.1.8 sender domain does not exist", None, OTHER, "sender"),
    ("5.4.4", "Host not found", ToolWord.HARD, OTHER, "not-hosted"),
    (None, "", None, OTHER, "unsaid"),
    # Two things at once: the safer one is believed.
    ("5.7.1", "smtp; 550 5.1.1 user unknown", None, OTHER, "contradiction"),
    ("5.1.1", "smtp; 550 5.1.1 rejected due to spam content", None, OTHER, "contradiction"),
    (None, "554 5.1.1 blocked using zen.spamhaus.org", ToolWord.HARD, OTHER, "contradiction"),
    ("5.1.1", "550 5.1.1 sender reputation too low", None, OTHER, "contradiction"),
    ("5.1.1", "host spam.filter.test said: 550 5.1.1 user unknown", None, GONE, ""),
    (None, "host mx.acme.test[192.0.2.1] said: 550 user unknown", None, GONE, ""),
    (None, "smtp; host mx said: 550 relay access denied", None, OTHER, ""),
    ("5.4.1", "550 5.4.1 Recipient address rejected: Access denied", None, GONE, ""),
    ("5.1.1", "smtp; 550 5.1.1 rejected, 5.7.606 banned sender", None, OTHER, ""),
    ("4.1.1", "smtp; 550 5.1.1 user unknown", None, LATER, "contradiction"),
    ("5.1.1", "", ToolWord.BLOCK, OTHER, "contradiction"),
    # But a code decides before a soft word of the tool.
    ("5.1.1", "", ToolWord.SOFT, GONE, "recipient-refused"),
)


def test_what_each_bounce_means() -> None:
    wrong = []
    for status, diagnostic, word, kind, why in BOUNCES:
        bounce = Bounce(address=ADDRESS, status=status, diagnostic=diagnostic, tool_word=word)
        found = bounce_meaning(bounce)
        if found.kind is not kind or (why and found.reason != why):
            wrong.append((status, diagnostic, word, found))

    assert not wrong


codes = st.one_of(
    st.none(),
    st.builds(
        "{}.{}.{}".format, st.sampled_from([4, 5]), st.integers(0, 7), st.integers(0, 40)
    ),
)
words = st.one_of(
    st.sampled_from(
        ["", "user unknown", "mailbox full", "blocked for spam", "no such user here", "x" * 9]
    ),
    st.text(max_size=30),
)


@st.composite
def bounces(draw: st.DrawFn) -> Bounce:
    code = draw(st.one_of(st.none(), st.integers(400, 599)))
    enhanced, said = draw(codes), draw(words)
    parts = (str(code or ""), enhanced or "", said)
    return Bounce(
        address=ADDRESS,
        status=draw(codes),
        code=draw(st.one_of(st.none(), st.integers(400, 599))),
        diagnostic=" ".join(filter(None, parts)),
        tool_word=draw(st.one_of(st.none(), st.sampled_from(ToolWord))),
    )


@given(bounces())
def test_nothing_contradicts_what_takes_a_mailbox_away(bounce: Bounce) -> None:
    found = bounce_meaning(bounce)

    if found.kind is BounceKind.PERMANENT:
        assert bounce.tool_word is not ToolWord.BLOCK
        assert bounce.status is None or bounce.status[0] == "5"
        assert bounce.code is None or bounce.code >= 500
        policy = bounce.status is not None and bounce.status.startswith("5.7.")
        assert not policy or bounce.status in {"5.7.13", "5.7.17", "5.7.18"}


@given(bounces())
def test_a_word_of_the_tool_outweighs_no_words_of_the_server(bounce: Bounce) -> None:
    """But for a block, which only ever spares a mailbox."""
    plain = msgspec.structs.replace(bounce, tool_word=None)
    hard = msgspec.structs.replace(bounce, tool_word=ToolWord.HARD)

    if bounce.diagnostic.strip("0123456789. ").strip():
        assert bounce_meaning(hard) == bounce_meaning(plain)
