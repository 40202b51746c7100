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


async def test_plain_server_accepts_its_mailboxes_and_nobody_else(sandbox: Sandbox) -> None:
    async with sandbox() as world:
        replies = await world.rcpt(HOST, JO, NOBODY, "postmaster@acme.test", "x@other.test")

    assert replies == [
        "250 2.1.5 Ok",
        (
            f"550 5.1.1 <{NOBODY}>: Recipient address rejected: "
            "User unknown in virtual mailbox table"
        ),
        "250 2.1.5 Ok",
        "554 5.7.1 <x@other.test>: Relay access denied",
    ]


async def test_mailboxes_and_domains_are_matched_without_case(sandbox: Sandbox) -> None:
    async with sandbox() as world:
        replies = await world.rcpt(HOST, "Jo.Ek@ACME.test")

    assert replies == ["250 2.1.5 Ok"]


@pytest.mark.parametrize(
    ("state", "start"),
    [
        ("open", "250 2.1.5 "),
        ("absent", "550 5.1.1 "),
        ("full", "452 4.2.2 "),
        ("over_quota", "552 5.2.2 "),
        ("disabled", "550 5.2.1 "),
        ("refuses_us", "550 5.7.1 "),
        ("too_fast", "450 4.2.1 "),
    ],
)
async def test_changing_one_mailbox_changes_what_rcpt_says(
    sandbox: Sandbox, state: str, start: str
) -> None:
    async with sandbox(mail=mail(mailboxes={"jo.ek": state, "info": "open"})) as world:
        jo, info, nobody = await world.rcpt(HOST, JO, "info@acme.test", NOBODY)

    assert jo.startswith(start)
    assert (info[:3], nobody[:9]) == ("250", "550 5.1.1")


@pytest.mark.parametrize(
    ("behaviour", "jo", "nobody", "postmaster"),
    [
        ({"kind": "catch_all"}, "250 2.1.5", "250 2.1.5", "250 2.1.5"),
        ({"kind": "refuses_us"}, "550 5.7.1", "550 5.7.1", "550 5.7.1"),
        ({"kind": "full"}, "452 4.2.2", "550 5.1.1", "250 2.1.5"),
        ({"kind": "full", "code": 552}, "552 5.2.2", "550 5.1.1", "250 2.1.5"),
        ({"kind": "disabled"}, "550 5.2.1", "550 5.1.1", "250 2.1.5"),
        ({"kind": "greylisting", "hint_s": 5}, "451 4.7.1", "451 4.7.1", "451 4.7.1"),
        ({"kind": "one_recipient"}, "250 2.1.5", "452 4.5.3", "452 4.5.3"),
    ],
)
async def test_behaviour_at_rcpt(
    sandbox: Sandbox, behaviour: dict[str, Any], jo: str, nobody: str, postmaster: str
) -> None:
    async with sandbox(mail=mail(behaviour)) as world:
        replies = await world.rcpt(HOST, JO, NOBODY, "postmaster@acme.test")

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


async def test_greylisting_passes_each_recipient_after_its_own_wait(sandbox: Sandbox) -> None:
    async with sandbox(mail=mail({"kind": "greylisting", "hint_s": 2})) as world:
        (first,) = await world.rcpt(HOST, JO)
        world.clock.now += 1.5
        (early,) = await world.rcpt(HOST, JO)
        world.clock.now += 0.5
        jo, nobody = await world.rcpt(HOST, JO, NOBODY)
        world.clock.now += 2
        (known,) = await world.rcpt(HOST, NOBODY)

    assert first.endswith("Greylisted, please try again in 2 seconds")
    assert early.endswith("try again in 1 seconds")
    assert [jo[:9], nobody[:9], known[:9]] == ["250 2.1.5", "451 4.7.1", "550 5.1.1"]


async def test_greylisting_by_client_passes_every_recipient_at_once(sandbox: Sandbox) -> None:
    behaviour = {"kind": "greylisting", "hint_s": 90, "remembers": "client"}
    async with sandbox(mail=mail(behaviour)) as world:
        (first,) = await world.rcpt(HOST, NOBODY)
        world.clock.now += 90
        jo, nobody = await world.rcpt(HOST, JO, NOBODY)

    assert [first[:9], jo[:9], nobody[:9]] == ["451 4.7.1", "250 2.1.5", "550 5.1.1"]


async def test_greylisting_forgets_a_client_in_a_month(sandbox: Sandbox) -> None:
    async with sandbox(mail=mail({"kind": "greylisting", "hint_s": 2})) as world:
        await world.rcpt(HOST, JO)
        world.clock.now += 30 * 86_400 - 1
        (known,) = await world.rcpt(HOST, JO)
        world.clock.now += 1
        (forgotten,) = await world.rcpt(HOST, JO)

    assert [known[:9], forgotten[:9]] == ["250 2.1.5", "451 4.7.1"]


async def test_greylisting_may_fall_silent_after_the_wait(sandbox: Sandbox) -> None:
    behaviour = {"kind": "greylisting", "hint_s": 112, "then": "silent"}
    async with sandbox(mail=mail(behaviour)) as world:
        (first,) = await world.rcpt(HOST, JO)
        world.clock.now += 112
        async with world.mail(HOST) as client:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.read_reply(), 0.2)

    assert first[:9] == "451 4.7.1"


async def test_silent_server_accepts_the_connection_and_says_nothing(sandbox: Sandbox) -> None:
    async with sandbox(mail=mail({"kind": "silent"})) as world, world.mail(HOST) as client:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.read_reply(), 0.2)


async def test_slow_server_waits_before_each_reply(sandbox: Sandbox) -> None:
    clock = asyncio.get_running_loop().time
    async with (
        sandbox(mail=mail({"kind": "slow", "delay_s": 0.1})) as world,
        world.mail(HOST) as client,
    ):
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


async def test_refusal_at_mail_names_the_sender(sandbox: Sandbox) -> None:
    behaviour = {"kind": "refuses_us", "at": "mail"}
    async with sandbox(mail=mail(behaviour)) as world, world.mail(HOST) as client:
        await client.read_reply()
        _, sender, recipient = await client.say(
            "EHLO probe.test", "MAIL FROM:<check@probe.test>", f"RCPT TO:<{JO}>"
        )

    assert sender == "550 5.7.1 <check@probe.test>: Sender address rejected: Access denied"
    assert recipient[:9] == "503 5.5.1"


async def test_starttls_is_asked_for_and_works(sandbox: Sandbox) -> None:
    async with (
        sandbox(mail=mail({"kind": "starttls_only"})) as world,
        world.mail(HOST) as client,
    ):
        trusting = ssl.create_default_context(cafile=str(world.addresses.ca_file))
        trusting.check_hostname = False  # the client knows the host by address only
        await client.read_reply()
        hello, refused = await client.say("EHLO probe.test", "MAIL FROM:<check@probe.test>")
        await client.say("STARTTLS")
        await client.start_tls(trusting)
        forgotten = await client.say("MAIL FROM:<check@probe.test>")
        again, *replies = await client.say(
            "EHLO probe.test",
            "MAIL FROM:<check@probe.test>",
            f"RCPT TO:<{JO}>",
            f"RCPT TO:<{NOBODY}>",
        )

    assert "250-STARTTLS" in hello
    assert refused == "530 5.7.0 Must issue a STARTTLS command first"
    assert forgotten[0][:9] == "503 5.5.1"
    assert "STARTTLS" not in again
    assert [reply[:9] for reply in replies] == ["250 2.1.0", "250 2.1.5", "550 5.1.1"]


async def test_starttls_is_not_to_be_had_where_it_is_not_offered(sandbox: Sandbox) -> None:
    async with sandbox() as world, world.mail(HOST) as client:
        await client.read_reply()
        hello, refused = await client.say("EHLO probe.test", "STARTTLS")

    assert "STARTTLS" not in hello
    assert refused[:3] == "502"


async def test_down_server_refuses_the_connection(sandbox: Sandbox) -> None:
    async with sandbox(mail=mail({"kind": "down"})) as world:
        with pytest.raises(ConnectionRefusedError):
            await world.rcpt(HOST, JO)


async def test_backup_answers_where_the_first_host_is_down(sandbox: Sandbox) -> None:
    hosts = [
        {"name": "mx1.acme.test", "behaviour": {"kind": "down"}},
        {"name": "mx2.acme.test", "preference": 20},
    ]
    async with sandbox(mail=mail(hosts=hosts)) as world:
        with pytest.raises(ConnectionRefusedError):
            await world.rcpt("mx1.acme.test", JO)
        (reply,) = await world.rcpt("mx2.acme.test", JO)

    assert reply == "250 2.1.5 Ok"


async def test_domain_without_mx_takes_mail_at_its_own_address(sandbox: Sandbox) -> None:
    async with sandbox(mail=mail(mx="none")) as world:
        jo, nobody = await world.rcpt("acme.test", JO, NOBODY)

    assert (jo[:3], nobody[:9]) == ("250", "550 5.1.1")


async def test_no_mail_is_ever_taken(sandbox: Sandbox) -> None:
    async with sandbox() as world, world.mail(HOST) as client:
        await client.rcpt(JO)
        (data,) = await client.say("DATA")

    assert data[:3] == "554"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("RCPT TO:<jo.ek@acme.test>", "503 5.5.1"),
        ("MAIL FROM:<check@probe.test>", "503 5.5.1"),
        ("VRFY jo.ek", "252 2.5.2"),
        ("NOOP", "250 2.0.0"),
        ("quit", "221 2.0.0"),
        ("HELO probe.test", "250 mx1.a"),
        ("FROBNICATE", "502 5.5.2"),
        ("NOOP " + "x" * 1_000, "500 5.5.2"),
    ],
)
async def test_command_before_any_greeting(sandbox: Sandbox, line: str, said: str) -> None:
    async with sandbox() as world, world.mail(HOST) as client:
        await client.read_reply()
        (reply,) = await client.say(line)

    assert reply[:9] == said


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("RCPT TO:jo.ek@acme.test", "501 5.1.3"),
        ("RCPT TO:<>", "501 5.1.3"),
        ("RCPT TO:<@acme.test>", "501 5.1.3"),
        ("RCPT TO:<postmaster>", "250 2.1.5"),
        ("MAIL FROM:<check@probe.test>", "503 5.5.1"),
    ],
)
async def test_command_after_mail(sandbox: Sandbox, command: str, said: str) -> None:
    async with sandbox() as world, world.mail(HOST) as client:
        await client.read_reply()
        await client.say("EHLO probe.test", "MAIL FROM:<>")
        (reply,) = await client.say(command)

    assert reply[:9] == said


async def test_line_without_end_is_cut_off(sandbox: Sandbox) -> None:
    async with sandbox() as world, world.mail(HOST) as client:
        await client.read_reply()
        client.writer.write(b"x" * 100_000)
        with pytest.raises((EOFError, ConnectionResetError, BrokenPipeError)):
            await asyncio.wait_for(client.read_reply(), 2)


async def test_two_hundred_commands_are_enough(sandbox: Sandbox) -> None:
    async with sandbox() as world, world.mail(HOST) as client:
        await client.read_reply()
        replies = await client.say(*["NOOP"] * 200)
        last = await client.read_reply()

    assert {reply[:3] for reply in replies} == {"250"}
    assert last[:9] == "421 4.7.0"


async def test_client_that_goes_away_leaves_the_server_serving(sandbox: Sandbox) -> None:
    async with sandbox() as world:
        async with world.mail(HOST) as client:
            client.writer.write(b"EHLO half a")
        (reply,) = await world.rcpt(HOST, JO)

    assert reply[:3] == "250"
