"""A verifier that costs money, as documented, in a stage whose messages come again."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from cs.bus.memory import MemoryBus
from cs.bus.topics import OUTCOMES, STAGE_TOPICS, decode_outcome, encode
from cs.domain.contact import Candidate, CheckedPerson
from cs.domain.stages.work import DomainVerified, VerificationInput, Work
from cs.outside.guard import Guard
from cs.outside.http import TrustedClient
from cs.paid_calls.paid import PaidCalls
from cs.pipeline.runner import Runner
from cs.pipeline.verification import Verification
from cs.plugins.entry_points import Group
from cs.plugins.registry import load_plugins
from cs.plugins.verifiers import Verdict, Verifier, VerifierContext
from cs.runtime.clock import SystemClock
from harness.in_memory import memory_calls
from outside.loopback_web import Web, WebRequest, Zone, reply, serve
from plugins.installed import Install, documented, install

__all__ = ["install"]

TOPIC = STAGE_TOPICS["verification"]


class Oracle:
    """The documented verifier and its provider, which answers or hangs up."""

    verifier: Verifier
    web: Web
    hangs_up = False


@pytest.fixture
async def oracle(install: Install) -> AsyncIterator[Oracle]:
    provider = Oracle()
    files, points, _ = documented("verifiers.md")
    install(files, points)

    async def answer(_: WebRequest, writer: asyncio.StreamWriter) -> None:
        if not provider.hangs_up:
            reply(writer, b'{"result": "valid"}')

    async with serve(answer) as web, TrustedClient(user_agent="test") as trusted:
        context = VerifierContext(
            settings={"url": web.url, "key": "s3cret"},
            resolver=Zone({}),
            guard=Guard([], frozenset()),
            fetcher=trusted,
            now=lambda: datetime.now(UTC),
            monotonic=lambda: 0.0,
            paid=PaidCalls(memory_calls()),
        )
        (provider.verifier,) = load_plugins(
            Group.VERIFIERS, lambda _: context, enabled=["oracle"]
        )
        provider.web = web
        yield provider


async def checked(oracle: Oracle, *, attempts: int) -> list[CheckedPerson]:
    """Give the stage the same work so often; return what came of the only person."""
    stage = Verification([oracle.verifier])
    bus = MemoryBus([(TOPIC, stage.name)])
    found: list[CheckedPerson] = []
    async with bus.subscribe(OUTCOMES, group="test") as outcomes:
        running = asyncio.create_task(Runner(stage, bus, SystemClock()).run())
        for attempt in range(1, attempts + 1):
            await bus.publish(TOPIC, key=b"", value=encode(work(attempt)))
            async for record in outcomes:
                finding = decode_outcome(record.value).finding
                if isinstance(finding, DomainVerified):
                    found += finding.checked
                    break
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return found


def work(attempt: int) -> Work:
    ada = Candidate(
        person="p1",
        full_name="Ada Kern",
        first_name="Ada",
        last_name="Kern",
        addresses=("ada@acme.example",),
    )
    return Work(
        lookup="brand-a.1",
        stage="verification",
        item="acme.example",
        attempt=attempt,
        deadline_at=datetime.now(UTC) + timedelta(seconds=40),
        input=VerificationInput(mail_domain="acme.example", candidates=(ada,)),
    )


async def test_an_address_is_paid_for_once_however_often_the_message_comes(
    oracle: Oracle,
) -> None:
    found = await checked(oracle, attempts=3)

    assert [each.verdict for each in found] == [Verdict.DELIVERABLE] * 3
    assert len(oracle.web.asked) == 1


async def test_an_address_whose_answer_was_lost_ends_unknown_and_is_not_asked_about_again(
    oracle: Oracle,
) -> None:
    oracle.hangs_up = True
    first = await checked(oracle, attempts=1)
    oracle.hangs_up = False

    again = await checked(oracle, attempts=2)

    assert [each.verdict for each in (*first, *again)] == [Verdict.UNKNOWN] * 3
    assert len(oracle.web.asked) == 1
