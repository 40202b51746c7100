"""A verifier that raises knows nothing, and says why."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
import pytest
from structlog.processors import format_exc_info
from structlog.testing import capture_logs

from cs.domain.mail.mailbox import DomainFacts, Evidence, Line, Verdict
from cs.plugins.isolated import FAILED, IsolatedVerifier
from cs.plugins.plugin_settings import SettingValues
from plugins.test_isolated_sources import PEOPLE, RAISED

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
GIVEN = SettingValues({"token": "s3cret"}, frozenset({"token"}))
ADDRESS = "jo@acme.test"
KNOWN = DomainFacts(greylists=True)
Where = Literal["open", "check", "close"]


class Raising:
    name, cost = "raising", 0

    def __init__(self, error: BaseException, where: Where) -> None:
        self._error, self._where = error, where

    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator[Any]:
        del mail_domain
        self._raise("open")
        self.learned = known
        yield self
        self._raise("close")

    async def check(self, address: str) -> Evidence:
        self._raise("check")
        return evidence(address, Verdict.DELIVERABLE)

    def _raise(self, where: Where) -> None:
        if where == self._where:
            raise self._error


def evidence(address: str, verdict: Verdict, *lines: str, answered: bool = True) -> Evidence:
    return Evidence(
        address=address,
        verdict=verdict,
        reason="said-so",
        verifier="raising",
        at=NOW,
        conversation=tuple(Line(at_ms=0, who="C", text=text) for text in lines),
        answered=answered,
    )


@pytest.mark.parametrize("where", ["open", "check"])
@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
async def test_what_it_raises_is_unknown_with_the_cause_in_the_evidence(
    error: BaseException, where: Where
) -> None:
    verifier = IsolatedVerifier(Raising(error, where), lambda: NOW, GIVEN)
    with capture_logs() as logs:
        async with verifier.open("acme.test", KNOWN) as check:
            found = await check.check(ADDRESS)
            assert check.learned == KNOWN

    assert (found.verdict, found.reason, found.answered) == (Verdict.UNKNOWN, FAILED, False)
    text = found.conversation[0].text
    assert text.startswith((f"[{type(error).__name__}", "[RuntimeError"))  # StopIteration
    assert logs[0]["event"] == "verifier_failed"


async def test_no_secret_stands_in_evidence_or_log() -> None:
    class Telling(Raising):
        async def check(self, address: str) -> Evidence:
            line = "[protocol: Illegal header value b'Bearer s3cret ']"
            return evidence(address, Verdict.UNKNOWN, line, answered=False)

    verifier = IsolatedVerifier(Telling(ValueError(), "close"), lambda: NOW, GIVEN)
    with capture_logs() as logs:
        async with verifier.open("acme.test", KNOWN) as check:
            found = await check.check(ADDRESS)
            await check.check(ADDRESS)

    assert found.conversation[0].text == "[protocol: Illegal header value b'Bearer ******** ']"
    assert logs[0]["why"] == found.conversation[0].text
    assert len([each for each in logs if each["reason"] == "said-so"]) == 1, "once a minute"


@pytest.mark.parametrize("where", ["open", "check", "close"])
@pytest.mark.parametrize("error", PEOPLE, ids=repr)
async def test_no_log_line_has_a_person_that_its_exception_quotes(
    error: BaseException, where: Where
) -> None:
    verifier = IsolatedVerifier(Raising(error, where), lambda: NOW, GIVEN)
    with capture_logs([format_exc_info]) as logs:
        async with verifier.open("acme.test", KNOWN) as check:
            await check.check("jane.doe@acme.test")

    assert [each["event"] for each in logs] == ["verifier_failed"]
    for person in ("jane", "doe"):
        assert person not in json.dumps(logs).lower()
    assert logs[0]["why"].startswith(type(error).__name__)
    assert "test_isolated_verifiers.py:" in logs[0]["at"]


async def test_the_words_of_a_mailbox_are_not_in_the_log_however_they_are_reported() -> None:
    class Naming(Raising):
        async def check(self, address: str) -> Evidence:
            if address == "jane.doe@acme.test":
                raise LookupError("Doe, Jane: no user jane.doe here, nor jane_doe")
            said = evidence(address, Verdict.UNKNOWN, "550 5.1.1 Jan Roe?", answered=False)
            return msgspec.structs.replace(said, reason="no-jan-roe")

    verifier = IsolatedVerifier(Naming(ValueError(), "close"), lambda: NOW, GIVEN)
    with capture_logs() as logs:
        async with verifier.open("acme.test", KNOWN) as check:
            await check.check("jane.doe@acme.test")
            found = await check.check("jan.roe@acme.test")

    told = json.dumps([{k: v for k, v in each.items() if k != "at"} for each in logs]).lower()
    for person in ("jane", "doe", "jan", "roe"):
        assert person not in told
    assert found.conversation[0].text == "550 5.1.1 Jan Roe?", "evidence is sealed, and has it"


@pytest.mark.parametrize("where", ["open", "check", "close"])
async def test_one_that_never_answers_is_waited_for_once(where: Where) -> None:
    class Hanging:
        name, cost, timeout_s = "raising", 0, 0.05

        @asynccontextmanager
        async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator[Any]:
            del mail_domain
            self.learned = known
            await self._hang("open")
            yield self
            await self._hang("close")

        async def check(self, address: str) -> Evidence:
            await self._hang("check")
            return evidence(address, Verdict.DELIVERABLE)

        async def _hang(self, here: Where) -> None:
            if here == where:
                await asyncio.Event().wait()

    async with asyncio.timeout(5):
        async with IsolatedVerifier(Hanging(), lambda: NOW).open("acme.test", KNOWN) as check:
            found = [await check.check(ADDRESS) for _ in range(3)]

    expected = Verdict.DELIVERABLE if where == "close" else Verdict.UNKNOWN
    assert {each.verdict for each in found} == {expected}
    if where != "close":
        assert found[0].conversation[0].text == "[no answer within 0.05 s]"
