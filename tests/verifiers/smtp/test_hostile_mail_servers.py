"""Mail servers that say too much, too little or nonsense: lost soon, and cheaply."""

import asyncio
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cs.domain.mail.mailbox import Evidence, Verdict
from cs.domain.mail.reply_meaning import MalformedReply, meaning, parse, same_words
from harness.budget import mib_of, seconds_of
from verifiers.smtp.mail_world import QUICK, World, mail_world
from verifiers.smtp.smtp_servers import Hostile, Script, people

REPLY_S = QUICK["reply_s"]
#: What is kept of a line, and the lines of a reply, at most.
LINE, LINES = 512, 100


async def greeted(world: World, said: bytes, times: int = 1) -> Evidence:
    """Return what comes of a server whose greeting is *said* so many times."""
    await world.exchanger(Script(people("jo"), banner=Hostile(said, times, shut=False)))
    return await world.check_one("jo")


FLOODS = {
    "no end of a line": (b"2" * 65_536, 400, "protocol closed"),
    "no end of a reply": (b"220-more\r\n" * 1_000, 100, "protocol closed"),
    "lines without a code": (b"hello\r\n" * 1_000, 100, "protocol closed"),
    "empty lines": (b"\r\n" * 10_000, 100, "protocol closed"),
    "zeros": (b"\0" * 65_536, 100, "protocol closed"),
    "carriage returns": (b"220-\r" * 20_000, 100, "protocol closed"),
    "two codes": (b"220-a\r\n550 b\r\n", 1, "protocol"),
    "a hundred long lines": (b"220-" + b"x" * 8_000 + b"\r\n", 99, "timeout protocol closed"),
    "commands to a terminal": (b"220-\x1b[2J\x9b\xe2\x80\xae\r\n", 3, "timeout"),
    "half a line": (b"220 mx", 1, "timeout"),
    "nothing": (b"", 0, "timeout"),
}


@pytest.mark.parametrize("name", FLOODS)
async def test_a_server_that_floods_is_lost_soon(name: str, world: World) -> None:
    said, times, whys = FLOODS[name]
    began, started = time.process_time(), asyncio.get_running_loop().time()

    found = await greeted(world, said, times)

    assert found.verdict is Verdict.UNKNOWN
    assert found.reason in whys.split()
    assert time.process_time() - began < 3
    assert asyncio.get_running_loop().time() - started < 10 * REPLY_S + 5
    texts = [line.text for line in found.conversation]
    assert len(texts) <= LINES + 3
    assert all(len(text) <= LINE and text.isprintable() for text in texts)


@pytest.mark.parametrize(("lines", "verdict"), [(LINES, "deliverable"), (LINES + 1, "unknown")])
async def test_a_reply_of_a_hundred_lines_is_read_and_one_more_is_not(
    lines: int, verdict: str, world: World
) -> None:
    found = await greeted(world, b"220-x\r\n" * (lines - 1) + b"220 x\r\n")

    assert found.verdict.value == verdict


@settings(max_examples=settings().max_examples // 3, deadline=None)
@given(st.lists(st.sampled_from([b"250", b"-", b" ", b"\r\n", b"\n", b"5.1.1", b"\xff", b"#"])))
async def test_any_bytes_in_place_of_a_reply_are_no_mailbox_by_themselves(
    pieces: list[bytes],
) -> None:
    async with mail_world() as world:
        reply = Hostile(b"".join(pieces) + b"\r\n550 5.1.1 end\r\n", shut=False)
        await world.exchanger(lambda _: reply)
        found = await world.check_one("jo")

    assert found.verdict is not Verdict.DELIVERABLE


UNITS = (
    *("a", " ", "#2.1.1", "(", "1", "a@b.c ", "user unknown ", "a.", "a-", "5.1.1 ", "<", "é"),
    *("try again in 5 minutes ", "1 s ", "in 00:00:00 ", "mailbox full ", "<a@b>", "ß", "[#"),
    *("jane@acme.test ", "acme.test", "mx.acme.test ", "4.", "\u0130", "::", "--", "99999 "),
)


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_the_longest_reply_is_understood_soon(unit: str) -> None:
    for code in (b"450", b"550"):
        assert seconds_of(lambda code=code: understand_longest(unit, code)) < 1.5  # type: ignore[misc]
    assert mib_of(lambda: understand_longest(unit, b"550")) < 8


def understand_longest(unit: str, code: bytes) -> None:
    line = (unit.encode() * LINE)[: LINE - 4]
    lines = [code + b"-" + line] * (LINES - 1) + [code + b" " + line]
    echoed = ("jane@acme.test", "acme.test", "mx.acme.test")

    reply = parse(lines)
    for stage in ("banner", "rcpt"):
        meaning(reply, stage=stage, echoed=echoed, sender="me@verify.test")
    same_words(reply, reply, echoed)


@given(st.lists(st.binary(max_size=60), max_size=6))
def test_any_lines_are_a_reply_or_none(lines: list[bytes]) -> None:
    try:
        reply = parse(lines)
    except MalformedReply:
        return
    assert 200 <= reply.code <= 599
    assert reply.text.isprintable()
