from collections.abc import AsyncIterator

import msgspec
import pytest

from cs.domain.mail.mailbox import Evidence, Verdict
from cs.domain.rule_sets import MAIL_REPLIES
from cs.plugins.contracts.verifier import VerifierCase, VerifierContract
from verifiers.smtp.mail_world import DOMAIN, World, mail_world, read_again
from verifiers.smtp.server_cases import PLAIN, SERVERS, YES, Case
from verifiers.smtp.smtp_servers import ServerRecord


class TestSmtpVerifier(VerifierContract):
    @pytest.fixture
    async def case(self) -> AsyncIterator[VerifierCase]:
        async with mail_world() as world:
            await world.exchanger(PLAIN)
            world.zone.trouble("silent.test", "MX", "SILENCE")
            yield VerifierCase(
                verifier=world.verifier(),
                mail_domain=DOMAIN,
                real=f"jo@{DOMAIN}",
                ghost=f"al@{DOMAIN}",
                silent_domain="silent.test",
            )


#: Others of the same server's, whose names read like words of a reply.
RENAMED = {"jo": "robin.mayfield", "al": "eu-5.minutes", "cy": "postmaster.x"}


def renamed(evidence: Evidence) -> Evidence:
    """Return *evidence* as if it were about another person, at another domain."""
    local, _, domain = evidence.address.partition("@")
    data = msgspec.json.encode(evidence)
    data = data.replace(f"{local}@{domain}".encode(), f"{RENAMED[local]}@{domain}".encode())
    data = data.replace(domain.encode(), b"relay-denied.full.test")
    return msgspec.json.decode(data, type=Evidence)


async def added(world: World, case: Case) -> list[ServerRecord]:
    """Add the mail servers of *case*; return what each is asked."""
    heard = []
    for number, script in enumerate(case.exchangers, 1):
        if script is None:
            world.dead_exchanger(preference=10 * number)
        else:
            heard.append(await world.exchanger(script, preference=10 * number))
    for name, records in case.records.items():
        world.zone.records[name] = dict(records)
    return heard


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.parametrize(
    "order", [("jo", "al"), pytest.param(("al", "jo", "jo", "cy"), marks=pytest.mark.slow)]
)
async def test_a_mail_server(name: str, order: tuple[str, ...], world: World) -> None:
    tried = SERVERS[name]
    heard = await added(world, tried)

    found, _ = await world.check(*order, verifier=world.verifier(**tried.settings))

    if order == ("jo", "al"):
        for each, (verdict, reason) in zip(found, (tried.jo, tried.al), strict=True):
            assert (each.verdict, each.reason) == (verdict, reason or each.reason)
    for place, (local, evidence) in enumerate(zip(order, found, strict=True)):
        if evidence.verdict is Verdict.DELIVERABLE:
            assert local == "jo", "a false deliverable"
            assert tried.jo == YES or place == 2, "a false deliverable"
        assert len(msgspec.json.encode(evidence)) <= 8192
        assert evidence.rules == MAIL_REPLIES
        again = read_again(evidence)
        assert again in {None, (evidence.verdict, evidence.reason)}, evidence
        assert read_again(renamed(evidence)) == again, "names say nothing"
    if tried.settings.get("mail_from") == "":
        assert "MAIL FROM:<>" in heard[0].commands
    for server in heard:
        assert not any(command.startswith("DATA") for command in server.commands)
        for recipients in server.recipients():
            assert len(recipients) <= 4
            assert sum(f"{local}@{DOMAIN}" in recipients for local in set(order)) <= 3
