"""A recorded conversation is read again as it was read then."""

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.mail.mailbox import Evidence, Line, Verdict
from verifiers.smtp.mail_world import World, read_again
from verifiers.smtp.server_cases import PLAIN

LINES = st.sampled_from(
    [
        "[connect mx.acme.test 127.1.2.3:25]",
        "[connect mx2.acme.test ::1:25]",
        "[probed earlier: refused]",
        "[probed earlier: accepted]",
        "220 mx.acme.test ESMTP",
        "EHLO us.test",
        "250-mx.acme.test",
        "250 ok",
        "MAIL FROM:<>",
        "STARTTLS",
        "QUIT",
        "RCPT TO:<jo@acme.test>",
        "RCPT TO:<postmaster@acme.test>",
        "RCPT TO:<q1w2e3@acme.test>",
        "RCPT TO:<aldous.yarrow@acme.test>",
        "550 5.1.1 no such user",
        "550 rejected",
        "421 closing",
        "452 4.5.3 too many recipients",
        "nonsense",
        "[...]",
    ]
) | st.text(max_size=20)


def replied(evidence: Evidence, before: str, after: str) -> Evidence:
    """Return *evidence* with other words of the server's in the place of *before*."""
    assert any(before in line.text for line in evidence.conversation if line.who == "S")
    lines = (
        msgspec.structs.replace(line, text=line.text.replace(before, after))
        for line in evidence.conversation
    )
    return msgspec.structs.replace(evidence, conversation=tuple(lines))


async def test_another_reply_is_read_by_its_own_meaning(world: World) -> None:
    await world.exchanger(PLAIN)
    [jo, al], _ = await world.check("jo", "al")

    assert read_again(jo) == (Verdict.DELIVERABLE, "recipient-accepted")
    assert read_again(al) == (Verdict.UNDELIVERABLE, "recipient-refused")
    [refusal] = {
        line.text
        for line in al.conversation
        if line.who == "S" and line.text.startswith("550") and "al@" in line.text
    }
    full = replied(al, refusal, "452 4.2.2 mailbox full")
    assert read_again(full) == (Verdict.MAILBOX_FULL, "mailbox-full")


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("550", "bare-refusal"),
        ("550 no such user", "recipient-refused"),
        ("550 5.2.1 mailbox disabled", "disabled"),
        ("552 5.2.2 mailbox full", "mailbox-full"),
    ],
)
def test_a_refusal_that_needs_a_control_counts_only_next_to_an_accepted_one(
    reply: str, kind: str
) -> None:
    asked = ("[connect mx.acme.test 127.1.2.3:25]", "RCPT TO:<jo@acme.test>", reply)
    control = "RCPT TO:<postmaster@acme.test>"

    def read(*lines: str) -> tuple[Verdict, str] | None:
        who = ("S" if line[0].isdecimal() else "C" for line in lines)
        said = (Line(at_ms=0, who=w, text=t) for w, t in zip(who, lines, strict=True))
        evidence = Evidence(
            address="jo@acme.test",
            verdict=Verdict.UNKNOWN,
            reason="unclear",
            verifier="smtp",
            at=datetime(2026, 1, 1, tzinfo=UTC),
            mx="mx.acme.test",
            conversation=tuple(said),
        )
        return read_again(evidence)

    assert read(*asked) is None
    assert read(*asked, control, "550 5.7.1 not you") is None
    assert read(control, "250 ok", "QUIT", *asked) is None, "another session"
    full = kind == "mailbox-full"
    verdict = Verdict.MAILBOX_FULL if full else Verdict.UNDELIVERABLE
    assert read(*asked, control, "250 ok") == (verdict, kind)


async def test_a_conversation_without_that_reply_is_not_read(world: World) -> None:
    await world.exchanger(PLAIN)
    [jo], _ = await world.check("jo")

    silent = [line for line in jo.conversation if line.who == "C"]
    gap = Line(at_ms=0, who="S", text="[...]")
    cut = (*jo.conversation[:3], gap, *jo.conversation[3:])
    unasked = [line for line in jo.conversation if "jo@" not in line.text]
    for lines in ((), silent, cut, unasked):
        assert read_again(msgspec.structs.replace(jo, conversation=tuple(lines))) is None


@given(st.lists(st.builds(Line, at_ms=st.just(0), who=st.sampled_from("CS"), text=LINES)))
def test_whatever_was_recorded_is_read_or_not_and_breaks_nothing(lines: list[Line]) -> None:
    evidence = Evidence(
        address="jo@acme.test",
        verdict=Verdict.UNKNOWN,
        reason="closed",
        verifier="smtp",
        at=datetime(2026, 1, 1, tzinfo=UTC),
        conversation=tuple(lines),
    )

    again = read_again(evidence)

    assert again is None or again[0] in Verdict
