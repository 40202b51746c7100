import asyncio
import ssl
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


async def test_new_session_makes_room_for_one_more_recipient_but_rset_does_not(
    sandbox: Sandbox,
) -> None:
    async with sandbox(mail=mail({"kind": "one_recipient"})) as world:
        async with world.mail(HOST) as client:
            await client.rcpt(JO)
            await client.say("RSET", "MAIL FROM:<check@probe.test>")
            (again,) = await client.say(f"RCPT TO:<{JO}>")
        (fresh,) = await world.rcpt(HOST, JO)

    assert (again[:9], fresh[:9]) == ("452 4.5.3", "250 2.1.5")


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


async def test_slow_server_waits_before_each_reply(sandbox: Sandbox) -> None:
    clock = asyncio.get_running_loop().time
    slow = mail({"kind": "slow", "delay_s": 0.1})
    async with sandbox(mail=slow) as world, world.mail(HOST) as client:
        start = clock()
        (reply,) = await client.rcpt(JO)

    assert reply[:3] == "250"
    assert clock() - start >= 0.4  # banner, EHLO, MAIL, RCPT


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        ({"kind": "refuses_us", "at": "banner"}, "554 5.7.1"),
        ({"kind": "busy"}, "421 4.3.2"),
    ],
)
async def test_refusal_at_the_banner_ends_the_session(
    sandbox: Sandbox, behaviour: dict[str, Any], said: str
) -> None:
    async with sandbox(mail=mail(behaviour)) as world, world.mail(HOST) as client:
        banner = await client.read_reply()
        with pytest.raises(EOFError):
            await client.read_reply()

    assert banner[:9] == said


async def test_starttls_is_asked_for_and_works(sandbox: Sandbox) -> None:
    secured = mail({"kind": "starttls_only"})
    async with sandbox(mail=secured) as world, world.mail(HOST) as client:
        trusting = ssl.create_default_context(cafile=str(world.addresses.ca_file))
        trusting.check_hostname = False  # the client knows the host by address only
        await client.read_reply()
        hello, refused = await client.say("EHLO probe.test", "MAIL FROM:<check@probe.test>")
        await client.say("STARTTLS")
        await client.start_tls(trusting)
        forgotten = await client.say("MAIL FROM:<check@probe.test>")
        again, *replies = await client.say(
            "EHLO probe.test", "MAIL FROM:<check@probe.test>", f"RCPT TO:<{JO}>"
        )

    assert "250-STARTTLS" in hello
    assert refused == "530 5.7.0 Must issue a STARTTLS command first"
    assert forgotten[0][:9] == "503 5.5.1"
    assert "STARTTLS" not in again
    assert [reply[:9] for reply in replies] == ["250 2.1.0", "250 2.1.5"]


async def test_backup_answers_where_the_first_host_is_down(sandbox: Sandbox) -> None:
    hosts = [
        {"name": "mx1.acme.test", "behaviour": {"kind": "down"}},
        {"name": "mx2.acme.test", "preference": 20},
    ]
    async with sandbox(mail=mail(hosts=hosts)) as world:
        with pytest.raises(ConnectionRefusedError):
            await world.rcpt("mx1.acme.test", JO)
        (reply,) = await world.rcpt("mx2.acme.test", JO)
    async with sandbox(mail=mail(mx="none")) as world:
        (at_home,) = await world.rcpt("acme.test", JO)

    assert reply == at_home == "250 2.1.5 Ok"


#: A line before any greeting, or after MAIL, and its reply. No mail is ever taken.
LINES = (
    (False, "RCPT TO:<jo.ek@acme.test>", "503 5.5.1"),
    (False, "MAIL FROM:<check@probe.test>", "503 5.5.1"),
    (False, "VRFY jo.ek", "252 2.5.2"),
    (False, "NOOP", "250 2.0.0"),
    (False, "quit", "221 2.0.0"),
    (False, "HELO probe.test", "250 mx1.a"),
    (False, "FROBNICATE", "502 5.5.2"),
    (False, "STARTTLS", "502 5.5.1"),
    (False, "NOOP " + "x" * 1_000, "500 5.5.2"),
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


async def test_refusal_at_mail_names_the_sender(sandbox: Sandbox) -> None:
    behaviour = {"kind": "refuses_us", "at": "mail"}
    async with sandbox(mail=mail(behaviour)) as world, world.mail(HOST) as client:
        await client.read_reply()
        _, sender = await client.say("EHLO probe.test", "MAIL FROM:<check@probe.test>")

    assert sender == "550 5.7.1 <check@probe.test>: Sender address rejected: Access denied"


async def test_client_that_never_ends_a_line_or_never_stops_is_cut_off(
    sandbox: Sandbox,
) -> None:
    async with sandbox() as world:
        async with world.mail(HOST) as client:
            await client.read_reply()
            client.writer.write(b"x" * 100_000)
            with pytest.raises((EOFError, ConnectionResetError, BrokenPipeError)):
                await asyncio.wait_for(client.read_reply(), 2)
        async with world.mail(HOST) as client:
            await client.read_reply()
            await client.say(*["NOOP"] * 200)
            last = await client.read_reply()
        (reply,) = await world.rcpt(HOST, JO)

    assert (last[:9], reply[:3]) == ("421 4.7.0", "250")
