"""The rules for every verifier, whatever it asks.

A plug-in's test module inherits `VerifierContract` and gives a fixture ``case``:

```python
class TestOracle(VerifierContract):
    @pytest.fixture
    def case(self) -> VerifierCase: ...
```
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec
import pytest

from cs.domain.stages.limits import check as check_limits
from cs.plugins.contracts.kit import in_time
from cs.plugins.verifiers import DomainFacts, Evidence, Verdict, Verifier

EVIDENCE_BYTES = 8_192
NO_FACTS = DomainFacts()
#: Of what is no address: no request is made about it.
BAD_ADDRESS = (Verdict.UNDELIVERABLE, "bad-address")


class VerifierCase(NamedTuple):
    """A verifier, and a world in which it is tried.

    Attributes:
        verifier: Works.
        mail_domain: Where the next two addresses are.
        real: An address whose mailbox exists.
        ghost: One whose mailbox does not.
        silent_domain: A mail domain whose servers give no answer.
        broken: The same kind of verifier, with the provider that it asks in every odd state:
            `cs.plugins.contracts.stand_in.out_of_order` makes them.  Empty if it asks none.
    """

    verifier: Verifier
    mail_domain: str
    real: str
    ghost: str
    silent_domain: str
    broken: Mapping[str, Verifier] = {}


@in_time
class VerifierContract:
    """Inherit, and give a fixture ``case``."""

    pytestmark = pytest.mark.asyncio

    async def test_a_real_mailbox_is_deliverable(self, case: VerifierCase) -> None:
        found = await _one(case, case.real)

        assert found.verdict is Verdict.DELIVERABLE, f"`real` of the case: {found.reason}"

    async def test_a_mailbox_that_is_not_there_is_undeliverable(
        self, case: VerifierCase
    ) -> None:
        found = await _one(case, case.ghost)

        assert found.verdict is Verdict.UNDELIVERABLE, f"`ghost` of the case: {found.reason}"

    async def test_no_answer_is_unknown_and_never_raises(self, case: VerifierCase) -> None:
        async with case.verifier.open(case.silent_domain, NO_FACTS) as check:
            found = await check.check(f"jo@{case.silent_domain}")

        assert found.verdict is Verdict.UNKNOWN, "no answer about a mailbox is UNKNOWN"

    async def test_a_provider_out_of_order_verifies_and_refuses_nobody(
        self, case: VerifierCase
    ) -> None:
        for state, verifier in case.broken.items():
            async with verifier.open(case.mail_domain, NO_FACTS) as check:
                found = await check.check(case.real)

            assert found.verdict is Verdict.UNKNOWN, f"{state}: no verdict can come of it"
            assert found.address == case.real, f"{state}: evidence names the address"
            check_limits(found)

    async def test_evidence_says_who_about_whom_and_when(self, case: VerifierCase) -> None:
        found = await _one(case, case.real)

        assert found.address == case.real, "the address as it was asked about"
        assert found.verifier == case.verifier.name, "the verifier's own name"
        assert found.at.utcoffset() is not None, "a time with its offset: `context.now()`"
        assert found.answered, "the service answered: answered=True"
        assert found.reason == found.reason.lower().strip(), "a stable word in lower case"

    async def test_evidence_is_small(self, case: VerifierCase) -> None:
        for address in (case.real, case.ghost):
            encoded = msgspec.json.encode(await _one(case, address))
            assert len(encoded) <= EVIDENCE_BYTES, "evidence is stored for every address"

    async def test_one_check_serves_many_addresses(self, case: VerifierCase) -> None:
        addresses = [case.ghost, case.real, case.ghost, case.real]

        async with case.verifier.open(case.mail_domain, NO_FACTS) as check:
            verdicts = [(await check.check(address)).verdict for address in addresses]

        assert verdicts == [
            Verdict.UNDELIVERABLE,
            Verdict.DELIVERABLE,
            Verdict.UNDELIVERABLE,
            Verdict.DELIVERABLE,
        ], "ghost, real, ghost, real: one verdict says nothing about the next address"

    async def test_asking_again_gives_the_same(self, case: VerifierCase) -> None:
        first = await _one(case, case.real)
        second = await _one(case, case.real)

        assert (first.verdict, first.reason) == (second.verdict, second.reason), (
            "everything may happen twice: the same verdict and reason"
        )

    async def test_a_known_catch_all_verifies_nobody(self, case: VerifierCase) -> None:
        known = DomainFacts(catch_all=True)

        async with case.verifier.open(case.mail_domain, known) as check:
            found = await check.check(case.real)

        assert found.verdict is Verdict.CATCH_ALL, (
            "known.catch_all is True: acceptance proves nothing, whatever the provider says"
        )

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

        assert (found.verdict, found.reason) == BAD_ADDRESS, "`is_mailbox` says what is one"

    @pytest.mark.parametrize(
        "mail_domain", ["exämple..de", "a\0b.test", "-.test", "x" * 70_000, ""]
    )
    async def test_at_what_is_no_mail_domain_nobody_is_verified(
        self, case: VerifierCase, mail_domain: str
    ) -> None:
        async with case.verifier.open(mail_domain, NO_FACTS) as check:
            found = await check.check(f"jo@{mail_domain}")

        assert (found.verdict, found.reason) == BAD_ADDRESS, "`is_mailbox` says what is one"

    async def test_evidence_is_what_a_message_may_hold(self, case: VerifierCase) -> None:
        for address in (case.real, case.ghost):
            check_limits(await _one(case, address))

    async def test_what_was_known_stays_learned(self, case: VerifierCase) -> None:
        known = DomainFacts(pattern="first.last")

        async with case.verifier.open(case.mail_domain, known) as check:
            await check.check(case.real)

            assert check.learned.pattern == "first.last", "`learned` begins with what is known"

    async def test_the_name_is_a_word_and_the_cost_is_not_negative(
        self, case: VerifierCase
    ) -> None:
        name, cost = case.verifier.name, case.verifier.cost

        assert name.isascii(), "the name of its entry point: ASCII"
        assert name == name.lower().strip() != "", "lower case, no spaces around it"
        assert cost >= 0, "0 is free; the cheapest is asked first"


async def _one(case: VerifierCase, address: str) -> Evidence:
    async with case.verifier.open(case.mail_domain, NO_FACTS) as check:
        return await check.check(address)
