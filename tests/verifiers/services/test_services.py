"""Verification services: what each of their answers is made of, and what they cost."""

import pytest

from cs.domain.mail.mailbox import DomainFacts, Verdict
from cs.outside.port import Response, Unreachable
from cs.plugins.contracts.stand_in import Answer, ServiceRequest, StandIn, out_of_order
from cs.plugins.contracts.verifier import VerifierCase, VerifierContract
from verifiers.services.service_answers import (
    ANSWERS,
    KEY,
    PLAIN,
    budgets_of,
    checked,
    saying,
    verifier,
)


def registry(name: str) -> Answer:
    """Say yes of Ada, no of others, and nothing of another domain."""
    yes, no = PLAIN[name]

    def answer(asked: ServiceRequest) -> Response:
        about = f"{asked.params} {asked.json}"
        if "silent.test" in about:
            raise Unreachable("timeout", asked.path)
        return saying(200, yes if "ada" in about else no)(asked)  # type: ignore[return-value]

    return answer


@pytest.fixture(params=sorted(PLAIN))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class TestEveryService(VerifierContract):
    @pytest.fixture
    def case(self, name: str) -> VerifierCase:
        return VerifierCase(
            verifier=verifier(name, StandIn(registry(name))),
            mail_domain="acme.test",
            real="ada@acme.test",
            ghost="bo@acme.test",
            silent_domain="silent.test",
            broken=out_of_order(lambda client: verifier(name, client)),
        )


async def test_each_answer_is_read_for_what_it_says() -> None:
    wrong = []
    for name, rows in ANSWERS.items():
        for body, verdict, reason, *status in rows:
            found = await checked(
                verifier(name, StandIn(saying(status[0] if status else 200, body)))
            )
            if (found.verdict, found.reason) != (verdict, reason):
                wrong.append(f"{name} {body!r}: {found.verdict} {found.reason}")
            if KEY in str(found) or found.verifier != name:
                wrong.append(f"{name}: {found}")

    assert wrong == []
    assert ANSWERS.keys() == PLAIN.keys()


#: What any service may do: status, body, the reason, whether to come back.
FAULTS = (
    (500, b"<h1>oops</h1>", "out-of-order", False),
    (401, b"{}", "key-refused", False),
    (402, b"{}", "no-credits", False),
    (400, b"{}", "bad-question", False),
    (404, b"{}", "nothing", False),
    (200, b"<!doctype html><p>Log in", "not-json", False),
    (200, b'["valid"]', "wrong-shape", False),
    (202, b"", "pending", True),
    (451, b"{}", "restricted", False),
)


async def test_the_kind_of_a_fault_is_the_reason_and_names_no_person(name: str) -> None:
    for status, body, reason, comes_back in FAULTS:
        found = await checked(verifier(name, StandIn(saying(status, body))))

        got = (found.verdict, found.reason, found.retry_in_s is not None)
        assert got == (Verdict.UNKNOWN, reason, comes_back), f"{status} {body!r}"
        assert KEY not in str(found)
        assert "ada" not in str(found.conversation)


async def test_a_verifier_waits_as_long_as_the_service_says() -> None:
    for headers, wait_s in (({}, 5.0), ({"retry_after": "77"}, 77.0)):
        for name in PLAIN.keys() - {"hunter"}:  # by which it means used-up credits
            found = await checked(verifier(name, StandIn(saying(429, b"{}", **headers))))
            assert (found.reason, found.retry_in_s) == ("rate-limited", wait_s)


async def test_an_answer_that_is_not_ready_is_asked_for_again_and_paid_once() -> None:
    ready = saying(200, PLAIN["hunter"][0])

    def answer(asked: ServiceRequest) -> object:
        return ready(asked) if len(client.asked) > 1 else saying(202, b"")(asked)

    client = StandIn(answer)
    hunter = verifier("hunter", client)

    found = [await checked(hunter) for _ in range(3)]
    (spent,) = await budgets_of(hunter).spending()

    assert [each.reason for each in found] == ["pending", *["said-valid"] * 2]
    assert len(client.asked) == 2
    assert spent.micros_today == 10_000


async def test_what_is_settled_is_not_asked(name: str) -> None:
    client = StandIn(registry(name))
    async with verifier(name, client).open("acme.test", DomainFacts(catch_all=True)) as check:
        assert (await check.check("ada@acme.test")).verdict is Verdict.CATCH_ALL

    assert client.asked == []


async def test_a_check_costs_one_call_and_says_what_is_left(name: str) -> None:
    client = StandIn(registry(name))
    found = await verifier(name, client).check()

    assert (found.ended, len(client.asked)) == ("works", 1)
    assert found.left == ("1000 credits" if name == "neverbounce" else None)
    assert bool(found.usd) is (name != "reacher")


async def test_only_an_instance_of_reacher_is_asked_without_a_secret(name: str) -> None:
    without = verifier(name, StandIn(registry(name)), key="")
    if name == "reacher":
        assert (await without.check()).ended == "works"
    else:
        assert without is None
