"""What every verifier must do, whatever it asks.

A verifier's test module inherits `VerifierContract` and says how to make the verifier
and which of its addresses the outside world knows what about.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import msgspec
import pytest

from cs.domain.mail.mailbox import DomainFacts, Evidence, Verdict
from cs.domain.stages.limits import check as check_limits
from cs.plugins.verifiers import Verifier

EVIDENCE_BYTES = 8_192
NOTHING = DomainFacts()


@dataclass(frozen=True)
class Subject:
    """A verifier and a domain in a world where *real* exists, *ghost* does not, and at
    *silent_domain* nobody answers.
    """

    verifier: Verifier
    mail_domain: str
    real: str
    ghost: str
    silent_domain: str


class VerifierContract(ABC):
    @abstractmethod
    def make(self) -> AbstractAsyncContextManager[Subject]:
        """Return the subject, its outside world running."""

    @pytest.fixture
    async def subject(self) -> AsyncIterator[Subject]:
        async with self.make() as subject:
            yield subject

    async def test_a_real_mailbox_is_deliverable(self, subject: Subject) -> None:
        assert (await _one(subject, subject.real)).verdict is Verdict.DELIVERABLE

    async def test_a_mailbox_that_is_not_there_is_undeliverable(self, subject: Subject) -> None:
        assert (await _one(subject, subject.ghost)).verdict is Verdict.UNDELIVERABLE

    async def test_no_answer_is_unknown_and_never_raises(self, subject: Subject) -> None:
        async with subject.verifier.open(subject.silent_domain, NOTHING) as check:
            found = await check.check(f"jo@{subject.silent_domain}")

        assert found.verdict is Verdict.UNKNOWN

    async def test_evidence_says_who_about_whom_and_when(self, subject: Subject) -> None:
        found = await _one(subject, subject.real)

        assert found.address == subject.real
        assert found.verifier == subject.verifier.name
        assert found.at.utcoffset() is not None
        assert found.answered
        assert found.reason == found.reason.lower().strip()

    async def test_evidence_is_small(self, subject: Subject) -> None:
        for address in (subject.real, subject.ghost):
            encoded = msgspec.json.encode(await _one(subject, address))
            assert len(encoded) <= EVIDENCE_BYTES

    async def test_one_check_serves_many_addresses(self, subject: Subject) -> None:
        addresses = [subject.ghost, subject.real, subject.ghost, subject.real]

        async with subject.verifier.open(subject.mail_domain, NOTHING) as check:
            verdicts = [(await check.check(address)).verdict for address in addresses]

        assert verdicts == [
            Verdict.UNDELIVERABLE,
            Verdict.DELIVERABLE,
            Verdict.UNDELIVERABLE,
            Verdict.DELIVERABLE,
        ]

    async def test_asking_again_gives_the_same(self, subject: Subject) -> None:
        first = await _one(subject, subject.real)
        second = await _one(subject, subject.real)

        assert (first.verdict, first.reason) == (second.verdict, second.reason)

    async def test_a_known_catch_all_verifies_nobody(self, subject: Subject) -> None:
        known = DomainFacts(catch_all=True)

        async with subject.verifier.open(subject.mail_domain, known) as check:
            found = await check.check(subject.real)

        assert found.verdict is Verdict.CATCH_ALL

    @pytest.mark.parametrize(
        "local",
        [
            "",
            "a b",
            "a@b",
            "jo\r\nDATA",
            "jo..lane",
            "x" * 65,
            "jo>",
            "jö",
            "jo\0",
            "jo\ud800",
            "\u202ejo",
            "jo\x9b31m",
            "x\r\n<script>",
            "x" * 70_000,
        ],
    )
    async def test_what_is_no_mailbox_is_not_asked_about(
        self, subject: Subject, local: str
    ) -> None:
        found = await _one(subject, f"{local}@{subject.mail_domain}")

        assert (found.verdict, found.reason) == (Verdict.UNDELIVERABLE, "bad-address")

    @pytest.mark.parametrize(
        "mail_domain", ["exämple..de", "a\0b.test", "-.test", "x" * 70_000, ""]
    )
    async def test_at_what_is_no_mail_domain_nobody_is_verified(
        self, subject: Subject, mail_domain: str
    ) -> None:
        async with subject.verifier.open(mail_domain, NOTHING) as check:
            found = await check.check(f"jo@{mail_domain}")

        assert (found.verdict, found.reason) == (Verdict.UNDELIVERABLE, "bad-address")

    async def test_evidence_is_what_a_message_may_hold(self, subject: Subject) -> None:
        for address in (subject.real, subject.ghost):
            check_limits(await _one(subject, address))

    async def test_what_was_known_stays_learned(self, subject: Subject) -> None:
        known = DomainFacts(pattern="first.last")

        async with subject.verifier.open(subject.mail_domain, known) as check:
            await check.check(subject.real)

            assert check.learned.pattern == "first.last"

    def test_the_name_is_a_word_and_the_cost_is_not_negative(self) -> None:
        name, cost = self.describe()

        assert name.isascii()
        assert name == name.lower().strip()
        assert cost >= 0

    @abstractmethod
    def describe(self) -> tuple[str, int]:
        """Return the verifier's name and cost, as callers see them."""


async def _one(subject: Subject, address: str) -> Evidence:
    async with subject.verifier.open(subject.mail_domain, NOTHING) as check:
        return await check.check(address)
