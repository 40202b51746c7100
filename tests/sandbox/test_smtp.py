import smtplib
from typing import Any

import dns.rcode
import pytest

from sandbox.small_world import Sandbox

HOST = "mx1.acme.test"
JO, NOBODY = "jo.ek@acme.test", "nobody@acme.test"


def mail(behaviour: dict[str, Any] | None = None, **parts: Any) -> list[dict[str, Any]]:
    more = {"behaviour": behaviour} if behaviour else {}
    return [{"domain": "acme.test", **more, **parts}]


#: Each state that a mailbox may have, and the reply to RCPT.
STATES = {
    "open": "250 2.1.5",
    "absent": "550 5.1.1",
    "full": "452 4.2.2",
    "over_quota": "552 5.2.2",
    "disabled": "550 5.2.1",
    "refuses_us": "550 5.7.1",
    "too_fast": "450 4.2.1",
}


async def test_each_mailbox_is_in_its_state(sandbox: Sandbox) -> None:
    states = {state.replace("_", "."): state for state in STATES}
    async with sandbox(mail=mail(mailboxes=states)) as world:
        replies = await world.rcpt(HOST, *(f"{local}@ACME.test" for local in states), NOBODY)

    assert [reply[:9] for reply in replies] == [*STATES.values(), "550 5.1.1"]


async def test_dns_trouble_is_of_mail_and_not_of_the_site(sandbox: Sandbox) -> None:
    async with sandbox(mail=mail(dns="refused")) as world:
        exchangers = await world.ask("ACME.test", "MX")
        site = await world.ask("acme.test", "A")

    assert (exchangers.rcode(), len(site.answer)) == (dns.rcode.REFUSED, 1)


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
        with pytest.raises(smtplib.SMTPServerDisconnected, match="timed out"):
            await world.rcpt(HOST, JO, within_s=0.2)
