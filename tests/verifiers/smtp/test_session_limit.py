"""However many mail domains lie behind one exchanger, it sees few sessions of ours at once."""

import asyncio

import pytest

from cs.domain.mail.mailbox import DomainFacts, Verdict
from verifiers.smtp.mail_world import DOMAIN, World
from verifiers.smtp.smtp_servers import Script, Waits, people


@pytest.mark.slow
@pytest.mark.parametrize("sessions", [1, 2])
async def test_a_hundred_domains_behind_one_host_meet_it_in_few_sessions_at_once(
    sessions: int, world: World
) -> None:
    heard = await world.exchanger(people("jo"))
    domains = [f"brand{n}.test" for n in range(100)]
    for domain in domains:
        world.zone.add(domain, MX=[f"10 mx1.{DOMAIN}."])
    # Of one address, waiting for a place not counted: all together take longer.
    verifier = world.verifier(address_s=10.0, connect_s=10.0, reply_s=10.0, sessions=sessions)

    async def verdict(domain: str) -> Verdict:
        async with verifier.open(domain, DomainFacts()) as check:
            found: Verdict = (await check.check(f"jo@{domain}")).verdict
            return found

    verdicts = await asyncio.gather(*map(verdict, domains))

    assert set(verdicts) == {Verdict.DELIVERABLE}
    assert heard.most == sessions
    assert len(heard.sessions) >= len(domains)


async def test_a_check_that_is_cancelled_during_a_good_bye_leaves_no_session_behind(
    world: World,
) -> None:
    heard_quit = asyncio.Event()
    await world.exchanger(Script(people("jo"), quit=Waits("221 2.0.0 Bye", heard_quit)))
    verifier = world.verifier(reply_s=9.0, sessions=1)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):  # the check's time is over while it says good-bye
            await world.check("jo", verifier=verifier)
    heard_quit.set()

    async with asyncio.timeout(5):  # or this host is asked by a session fewer for good
        async with verifier.open(DOMAIN, DomainFacts()) as check:
            assert (await check.check(f"jo@{DOMAIN}")).verdict is Verdict.DELIVERABLE
