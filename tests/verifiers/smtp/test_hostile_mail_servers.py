"""Mail servers that say too much, too little or nonsense: lost soon, and cheaply."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cs.domain.mail.reply_meaning import MalformedReply, SmtpReply, meaning, parse, same_words
from cs.verifiers.smtp.connection import NoUsableReply, SmtpConnection, connect
from harness.budget import mib_of, seconds_of
from harness.loopback_server import loopback_server

REPLY_S = 0.5
#: What is kept of a line, and the lines of a reply, at most.
LINE, LINES = 512, 100


@asynccontextmanager
async def flooding(said: bytes, times: int, notes: list[str]) -> AsyncIterator[SmtpConnection]:
    """A connection to a server that says *said* so many times, and then waits."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(times):
            writer.write(said)
            await writer.drain()
        await reader.read()

    async with loopback_server(talk) as port:
        connection = await connect(
            "127.0.0.1",
            port,
            connect_s=5,
            reply_s=REPLY_S,
            note=lambda _, text: notes.append(text),
        )
        try:
            yield connection
        finally:
            await connection.abort()


async def exchange_replies(said: bytes, times: int = 1) -> tuple[SmtpReply | str, list[str]]:
    notes: list[str] = []
    async with flooding(said, times, notes) as connection:
        try:
            return await connection.read_reply(), notes
        except NoUsableReply as lost:
            return lost.why, notes


FLOODS = {
    "no end of a line": (b"2" * 65_536, 400, "protocol closed"),
    "no end of a reply": (b"250-more\r\n" * 1_000, 100, "protocol closed"),
    "lines without a code": (b"hello\r\n" * 1_000, 100, "protocol closed"),
    "empty lines": (b"\r\n" * 10_000, 100, "protocol closed"),
    "zeros": (b"\0" * 65_536, 100, "protocol closed"),
    "carriage returns": (b"250-\r" * 20_000, 100, "protocol closed"),
    "two codes": (b"250-a\r\n550 b\r\n", 1, "protocol"),
    "a hundred long lines": (b"250-" + b"x" * 8_000 + b"\r\n", 99, "timeout protocol closed"),
    "commands to a terminal": (b"220-\x1b[2J\x9b\xe2\x80\xae\r\n", 3, "timeout"),
    "half a line": (b"220 mx", 1, "timeout"),
    "nothing": (b"", 0, "timeout"),
}


@pytest.mark.parametrize("name", FLOODS)
async def test_a_server_that_floods_is_lost_soon(name: str) -> None:
    said, times, whys = FLOODS[name]
    began, started = time.thread_time(), asyncio.get_running_loop().time()

    why, notes = await exchange_replies(said, times)

    assert why in whys.split()
    assert time.thread_time() - began < 3
    assert asyncio.get_running_loop().time() - started < 10 * REPLY_S + 5
    assert len(notes) <= LINES + 3
    assert all(len(text) <= LINE and text.isprintable() for text in notes)


async def test_a_reply_of_a_hundred_lines_is_heard_and_one_more_is_not() -> None:
    whole, _ = await exchange_replies(b"250-x\r\n" * (LINES - 1) + b"250 x\r\n")
    longer, _ = await exchange_replies(b"250-x\r\n" * LINES + b"250 x\r\n")

    assert isinstance(whole, SmtpReply)
    assert longer == "protocol"


@settings(max_examples=settings().max_examples * 3 // 5, deadline=None)
@given(st.lists(st.sampled_from([b"250", b"-", b" ", b"\r\n", b"\n", b"5.1.1", b"\xff", b"#"])))
async def test_any_bytes_are_a_reply_or_lost(pieces: list[bytes]) -> None:
    came, _ = await exchange_replies(b"".join(pieces) + b"\r\n250 end\r\n")

    assert isinstance(came, SmtpReply) or came in {"protocol", "timeout"}


UNITS = (
    *("a", " ", "#2.1.1", "(", "1", "a@b.c ", "user unknown ", "a.", "a-", "5.1.1 ", "<", "é"),
    *("try again in 5 minutes ", "1 s ", "in 00:00:00 ", "mailbox full ", "<a@b>", "ß", "[#"),
    *("jane@acme.test ", "acme.test", "mx.acme.test ", "4.", "\u0130", "::", "--", "99999 "),
)


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("code", [b"450", b"550"])
def test_the_longest_reply_is_understood_soon(unit: str, code: bytes) -> None:
    assert seconds_of(lambda: understand_longest(unit, code)) < 1.5
    assert mib_of(lambda: understand_longest(unit, code)) < 8


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
