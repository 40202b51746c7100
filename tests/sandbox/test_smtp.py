import asyncio
from typing import Any

import pytest

from sandbox.small_world import Sandbox

HOST = "mx1.acme.test"
JO, NOBODY = "jo.ek@acme.test", "nobody@acme.test"


def mail(behaviour: dict[str, Any] | None = None, **parts: Any) -> list[dict[str, Any]]:
    more = {"behaviour": behaviour} if behaviour else {}
    return [{"domain": "acme.test", **more, **parts}]


#: A mail domain, and what it replies about somebody of it, nobody, and the postmaster.
RCPT: list[tuple[list[dict[str, Any]], str, str, str]] = [
    (mail(), "250 2.1.5", "550 5.1.1", "250 2.1.5"),
    (mail(mailboxes={"jo.ek": "absent"}), "550 5.1.1", "550 5.1.1", "250 2.1.5"),
    (mail(mailboxes={"jo.ek": "full"}), "452 4.2.2", "550 5.1.1", "250 2.1.5"),
    (mail(mailboxes={"jo.ek": "over_quota"}), "552 5.2.2", "550 5.1.1", "250 2.1.5"),
    (mail(mailboxes={"jo.ek": "disabled"}), "550 5.2.1", "550 5.1.1", "250 2.1.5"),
    (mail(mailboxes={"jo.ek": "refuses_us"}), "550 5.7.1", "550 5.1.1", "250 2.1.5"),
    (mail(mailboxes={"jo.ek": "too_fast"}), "450 4.2.1", "550 5.1.1", "250 2.1.5"),
    (mail(mailboxes={"nobody": "open"}), "250 2.1.5", "250 2.1.5", "250 2.1.5"),
    (mail({"kind": "catch_all"}), "250 2.1.5", "250 2.1.5", "250 2.1.5"),
    (mail({"kind": "refuses_us"}), "550 5.7.1", "550 5.7.1", "550 5.7.1"),
    (mail({"kind": "full"}), "452 4.2.2", "550 5.1.1", "250 2.1.5"),
    (mail({"kind": "full", "code": 552}), "552 5.2.2", "550 5.1.1", "250 2.1.5"),
    (mail({"kind": "disabled"}), "550 5.2.1", "550 5.1.1", "250 2.1.5"),
    (mail({"kind": "greylisting", "hint_s": 5}), "451 4.7.1", "451 4.7.1", "451 4.7.1"),
    (mail({"kind": "one_recipient"}), "250 2.1.5", "452 4.5.3", "452 4.5.3"),
]


@pytest.mark.parametrize(("world", "jo", "nobody", "postmaster"), RCPT)
async def test_behaviours_and_states_are_what_rcpt_says(
    sandbox: Sandbox, world: list[dict[str, Any]], jo: str, nobody: str, postmaster: str
) -> None:
    async with sandbox(mail=world) as running:
        replies = await running.rcpt(HOST, "Jo.Ek@ACME.test", NOBODY, "postmaster@acme.test")

    assert [reply[:9] for reply in replies] == [jo, nobody, postmaster]


async def test_greylisting_passes_each_recipient_after_its_own_wait_for_a_month(
    sandbox: Sandbox,
) -> None:
    async with sandbox(mail=mail({"kind": "greylisting", "hint_s": 2})) as world:
        (first,) = await world.rcpt(HOST, JO)
        world.clock.now += 1.5
        (early,) = await world.rcpt(HOST, JO)
        world.clock.now += 0.5
        jo, nobody = await world.rcpt(HOST, JO, NOBODY)
        world.clock.now += 30 * 86_400
        (forgotten,) = await world.rcpt(HOST, JO)

    assert first.endswith("Greylisted, please try again in 2 seconds")
    assert early.endswith("try again in 1 seconds")
    assert [jo[:9], nobody[:9], forgotten[:9]] == ["250 2.1.5", "451 4.7.1", "451 4.7.1"]


async def test_greylisting_by_client_passes_every_recipient_at_once(sandbox: Sandbox) -> None:
    behaviour = {"kind": "greylisting", "hint_s": 90, "remembers": "client"}
    async with sandbox(mail=mail(behaviour)) as world:
        (first,) = await world.rcpt(HOST, NOBODY)
        world.clock.now += 90
        jo, nobody = await world.rcpt(HOST, JO, NOBODY)

    assert [first[:9], jo[:9], nobody[:9]] == ["451 4.7.1", "250 2.1.5", "550 5.1.1"]


@pytest.mark.parametrize(
    "behaviour",
    [{"kind": "silent"}, {"kind": "greylisting", "hint_s": 112, "then": "silent"}],
)
async def test_server_may_say_nothing(sandbox: Sandbox, behaviour: dict[str, Any]) -> None:
    async with sandbox(mail=mail(behaviour)) as world:
        if behaviour["kind"] == "greylisting":
            await world.rcpt(HOST, JO)
            world.clock.now += 112
        async with world.mail(HOST) as client:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.read_reply(), 0.2)


#: A line before any greeting, or after MAIL, and its reply. No mail is ever taken.
LINES = (
    (False, "RCPT TO:<jo.ek@acme.test>", "503 5.5.1"),
    (False, "MAIL FROM:<check@probe.test>", "503 5.5.1"),
    (False, "VRFY jo.ek", "252 2.5.2"),
    (False, "NOOP", "250 2.0.0"),
    (False, "quit", "221 2.0.0"),
    (False, "HELO probe.test", "250 mx1.a"),
    (False, "FROBNICATE", "502 5.5.2"),
    (True, "RCPT TO:jo.ek@acme.test", "501 5.1.3"),
    (True, "RCPT TO:<>", "501 5.1.3"),
    (True, "RCPT TO:<@acme.test>", "501 5.1.3"),
    (True, "RCPT TO:<postmaster>", "250 2.1.5"),
    (True, "RCPT TO:<x@other.test>", "554 5.7.1"),
    (True, "MAIL FROM:<check@probe.test>", "503 5.5.1"),
    (True, "DATA", "554 5.3.2"),
)


async def test_each_line_has_its_reply(sandbox: Sandbox) -> None:
    wrong = []
    async with sandbox() as world:
        for after_mail, line, said in LINES:
            async with world.mail(HOST) as client:
                await client.read_reply()
                if after_mail:
                    await client.say("EHLO probe.test", "MAIL FROM:<>")
                (reply,) = await client.say(line)
            if reply[:9] != said:
                wrong.append((line, reply))

    assert wrong == []
