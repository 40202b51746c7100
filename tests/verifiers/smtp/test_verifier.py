from collections.abc import AsyncIterator

import msgspec
import pytest

from cs.domain.mail.mailbox import Verdict
from cs.domain.rule_sets import MAIL_REPLIES
from cs.plugins.contracts.verifier import VerifierCase, VerifierContract
from verifiers.smtp.mail_world import DOMAIN, World, mail_world
from verifiers.smtp.server_cases import PLAIN, SERVERS, YES


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


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.parametrize(
    "order", [("jo", "al"), pytest.param(("al", "jo"), marks=pytest.mark.slow)]
)
async def test_a_mail_server(name: str, order: tuple[str, str], world: World) -> None:
    tried = SERVERS[name]
    heard = await world.exchanger(tried.script)

    found, _ = await world.check(*order)

    by_local = dict(zip(order, found, strict=True))
    if order == ("jo", "al"):
        assert (by_local["jo"].verdict, by_local["jo"].reason) == tried.jo
        assert (by_local["al"].verdict, by_local["al"].reason) == tried.al
    for local, evidence in by_local.items():
        if evidence.verdict is Verdict.DELIVERABLE:
            assert (local, tried.jo) == ("jo", YES), "a false deliverable"
        assert len(msgspec.json.encode(evidence)) <= 8192
        assert evidence.rules == MAIL_REPLIES
    assert not any(command.startswith("DATA") for command in heard.commands)
    for recipients in heard.recipients():
        assert len(recipients) <= 4
        assert sum(f"{local}@{DOMAIN}" in recipients for local in order) <= 3
