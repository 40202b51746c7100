"""What every verifier does, whatever it asks.

A plug-in's test module inherits `VerifierContract` and gives a fixture ``case``:

```python
class TestOracle(VerifierContract):
    @pytest.fixture
    def case(self) -> VerifierCase: ...
```
"""

from typing import NamedTuple

import msgspec
import pytest

from cs.domain.stages.limits import check as check_limits
from cs.plugins.verifiers import DomainFacts, Evidence, Verdict, Verifier

EVIDENCE_BYTES = 8_192
NO_FACTS = DomainFacts()


class VerifierCase(NamedTuple):
    """A verifier, and a world in which it is tried.

    Attributes:
        verifier: Works.
        mail_domain: Where the next two addresses are.
        real: An address whose mailbox exists.
        ghost: One whose mailbox does not.
        silent_domain: A mail domain of which nobody gives any answer.
    """

    verifier: Verifier
    mail_domain: str
    real: str
    ghost: str
    silent_domain: str


class VerifierContract:
    """Inherit, and give a fixture ``case``."""

    pytestmark = pytest.mark.asyncio

    async def test_a_real_mailbox_is_deliverable(self, case: VerifierCase) -> None:
        assert (await _one(case, case.real)).verdict is Verdict.DELIVERABLE

    async def test_a_mailbox_that_is_not_there_is_undeliverable(
        self, case: VerifierCase
    ) -> None:
        assert (await _one(case, case.ghost)).verdict is Verdict.UNDELIVERABLE

    async def test_no_answer_is_unknown_and_never_raises(self, case: VerifierCase) -> None:
        async with case.verifier.open(case.silent_domain, NO_FACTS) as check:
            found = await check.check(f"jo@{case.silent_domain}")

        assert found.verdict is Verdict.UNKNOWN

    async def test_evidence_says_who_about_whom_and_when(self, case: VerifierCase) -> None:
        found = await _one(case, case.real)

        assert found.address == case.real
        assert found.verifier == case.verifier.name
        assert found.at.utcoffset() is not None
        assert found.answered
        assert found.reason == found.reason.lower().strip()

    async def test_evidence_is_small(self, case: VerifierCase) -> None:
        for address in (case.real, case.ghost):
            encoded = msgspec.json.encode(await _one(case, address))
            assert len(encoded) <= EVIDENCE_BYTES

    async def test_one_check_serves_many_addresses(self, case: VerifierCase) -> None:
        addresses = [case.ghost, case.real, case.ghost, case.real]

        async with case.verifier.open(case.mail_domain, NO_FACTS) as check:
            verdicts = [(await check.check(address)).verdict for address in addresses]

        assert verdicts == [
            Verdict.UNDELIVERABLE,
            Verdict.DELIVERABLE,
            Verdict.UNDELIVERABLE,
            Verdict.DELIVERABLE,
        ]

    async def test_asking_again_gives_the_same(self, case: VerifierCase) -> None:
        first = await _one(case, case.real)
        second = await _one(case, case.real)

        assert (first.verdict, first.reason) == (second.verdict, second.reason)

    async def test_a_known_catch_all_verifies_nobody(self, case: VerifierCase) -> None:
        known = DomainFacts(catch_all=True)

        async with case.verifier.open(case.mail_domain, known) as check:
            found = await check.check(case.real)

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
        self, case: VerifierCase, local: str
    ) -> None:
        found = await _one(case, f"{local}@{case.mail_domain}")

        assert (found.verdict, found.reason) == (Verdict.UNDELIVERABLE, "bad-address")

    @pytest.mark.parametrize(
        "mail_domain", ["exämple..de", "a\0b.test", "-.test", "x" * 70_000, ""]
    )
    async def test_at_what_is_no_mail_domain_nobody_is_verified(
        self, case: VerifierCase, mail_domain: str
    ) -> None:
        async with case.verifier.open(mail_domain, NO_FACTS) as check:
            found = await check.check(f"jo@{mail_domain}")

        assert (found.verdict, found.reason) == (Verdict.UNDELIVERABLE, "bad-address")

    async def test_evidence_is_what_a_message_may_hold(self, case: VerifierCase) -> None:
        for address in (case.real, case.ghost):
            check_limits(await _one(case, address))

    async def test_what_was_known_stays_learned(self, case: VerifierCase) -> None:
        known = DomainFacts(pattern="first.last")

        async with case.verifier.open(case.mail_domain, known) as check:
            await check.check(case.real)

            assert check.learned.pattern == "first.last"

    async def test_the_name_is_a_word_and_the_cost_is_not_negative(
        self, case: VerifierCase
    ) -> None:
        name, cost = case.verifier.name, case.verifier.cost

        assert name.isascii()
        assert name == name.lower().strip() != ""
        assert cost >= 0


async def _one(case: VerifierCase, address: str) -> Evidence:
    async with case.verifier.open(case.mail_domain, NO_FACTS) as check:
        return await check.check(address)
