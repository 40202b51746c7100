from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import msgspec
import pytest

from contracts.verifier import Subject, VerifierContract
from cs.domain.mail.mailbox import Verdict
from cs.verifiers.smtp.verifier import NAME
from verifiers.smtp.mail_world import DOMAIN, World, mail_world
from verifiers.smtp.server_cases import PLAIN, SERVERS, YES


class TestSmtpVerifier(VerifierContract):
    def make(self) -> AbstractAsyncContextManager[Subject]:
        return _subject()

    def describe(self) -> tuple[str, int]:
        return NAME, 0


@asynccontextmanager
async def _subject() -> AsyncIterator[Subject]:
    async with mail_world() as world:
        await world.exchanger(PLAIN)
        world.zone.trouble("silent.test", "MX", "SILENCE")
        yield Subject(world.verifier(), DOMAIN, f"jo@{DOMAIN}", f"al@{DOMAIN}", "silent.test")


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.parametrize("order", [("jo", "al"), ("al", "jo")])
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
    assert not any(command.startswith("DATA") for command in heard.commands)
    assert all(len(recipients) <= 3 for recipients in heard.recipients())
