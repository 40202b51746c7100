"""Verification services on a real server: what each of their answers is made of."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

import pytest

from cs.domain.mail.mailbox import DomainFacts, Evidence, Verdict
from cs.outside.guard import Guard
from cs.outside.http import TrustedClient
from cs.outside.resolver import DnsResolver
from cs.paid_calls.current_lookup import set_current_lookup
from cs.paid_calls.paid import PaidOnce
from cs.plugins.contracts.verifier import VerifierCase, VerifierContract
from cs.plugins.hosted import HostedVerifier
from cs.plugins.verifiers import VerifierContext
from harness.in_memory import memory_budgets, memory_calls
from outside.loopback_web import Web, WebRequest, reply, serve
from verifiers.services.service_answers import ANSWERS, PLAIN

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
KEY = "k3y-of-ours"
KNOWN = DomainFacts()


class Says:
    """A server that says what it is told to say."""

    def __init__(self, status: int = 200, body: bytes = b"", **headers: str) -> None:
        self.status, self.body, self.headers = status, body, headers
        self.over = asyncio.Event()
        self.web: Web

    async def answer(self, asked: WebRequest, writer: asyncio.StreamWriter) -> None:
        if self.status == 0:
            await self.over.wait()
            return
        if self.status == 1:
            writer.write(b'HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"data": ')
            return
        named = {name.replace("_", "-"): value for name, value in self.headers.items()}
        reply(writer, self._body(asked), status=self.status, headers=named)

    def _body(self, _: WebRequest) -> bytes:
        return self.body


class Registry(Says):
    """Says yes of Ada, no of others, and nothing of another domain."""

    def __init__(self, service: str) -> None:
        super().__init__()
        self._yes, self._no = PLAIN[service]

    def _body(self, asked: WebRequest) -> bytes:
        where = asked.path + asked.body.decode()
        if "silent.test" in where:
            return b"<h1>Bad gateway</h1>"
        return self._yes if "ada" in where else self._no


@asynccontextmanager
async def verifiers_at(
    says: Says, total_s: float = 5.0, key: str = KEY
) -> AsyncIterator[Mapping[str, Any]]:
    """Yield every service's verifier, all of them at one server that *says* something."""
    budgets, calls = memory_budgets(), PaidOnce(memory_calls())
    async with (
        serve(says.answer) as web,
        TrustedClient(user_agent="cs/test", total_s=total_s) as client,
    ):
        says.web = web
        made: dict[str, HostedVerifier[Any]] = {}
        for name in PLAIN:
            context = VerifierContext(
                settings={
                    "url": f"{web.url}/v9",
                    "key": key,
                    "calls_per_s": 10.0,
                    "burst": 25 if name != "hunter" else 10,
                },
                resolver=DnsResolver(("127.0.0.1", 1), timeout_s=0.1),
                guard=Guard(),
                fetcher=client,
                now=lambda: NOW,
                monotonic=lambda: 0.0,
                paid=calls,
                budgets=budgets,
            )
            module = import_module(f"cs.verifiers.services.{name}")
            made[name] = module.from_context(context)
        yield made
        for name in PLAIN:
            await budgets.resume(name)
        says.over.set()


async def checked(verifier: HostedVerifier[Any], lookup: str = "brand-a.1") -> Evidence:
    with set_current_lookup(lookup):
        async with verifier.open("acme.test", KNOWN) as check:
            return await check.check("ada@acme.test")


async def test_each_answer_is_read_for_what_it_says() -> None:
    says, wrong = Says(), []
    async with verifiers_at(says) as verifiers:
        for number, (name, status, body, verdict, reason) in enumerate(ANSWERS):
            says.status, says.body = status, body
            await verifiers[name].service._budgets.resume(name)
            found = await checked(verifiers[name], f"brand-a.{number}")
            if (found.verdict, found.reason) != (verdict, reason):
                wrong.append(f"{name} {status} {body!r}: {found.verdict} {found.reason}")
            if KEY in str(found) or found.verifier != name:
                wrong.append(f"{name} {status}: {found}")

    assert wrong == []
    assert {name for name, *_ in ANSWERS} == set(PLAIN)


#: What any service may do: status, body, headers, the reason, whether to come back.
FAULTS: tuple[tuple[int, bytes, dict[str, str], str, bool], ...] = (
    (0, b"", {}, "timeout", False),
    (1, b"", {}, "unreachable", False),
    (500, b"<h1>oops</h1>", {}, "out-of-order", False),
    (503, b"", {"retry_after": "9"}, "out-of-order", False),
    (401, b"{}", {}, "key-refused", False),
    (402, b"{}", {}, "no-credits", False),
    (400, b"{}", {}, "bad-question", False),
    (404, b"{}", {}, "nothing", False),
    (200, b"<!doctype html><p>Log in", {}, "not-json", False),
    (200, b"", {}, "not-json", False),
    (200, b'{"data": {"status": "va', {}, "not-json", False),
    (200, b'["valid"]', {}, "wrong-shape", False),
    (
        *(200, b'{"data": {"status": 7}, "status": 7, "result": 7, "is_reachable": 7}'),
        *({}, "wrong-shape", False),
    ),
    (302, b"", {"location": "https://x.example/"}, "unreachable", False),
    (202, b"", {}, "pending", True),
    (451, b"{}", {}, "restricted", False),
)


async def test_no_fault_of_any_service_verifies_or_refuses_anybody() -> None:
    wrong = []
    for number, (status, body, headers, reason, comes_back) in enumerate(FAULTS):
        says = Says(status, body, **headers)
        async with verifiers_at(says, total_s=0.3 if status == 0 else 5.0) as verifiers:
            found = await asyncio.gather(
                *(checked(each, f"brand-a.{number}") for each in verifiers.values())
            )
            says.over.set()
        for each in found:
            got = (each.verdict, each.reason, each.retry_in_s is not None)
            if got != (Verdict.UNKNOWN, reason, comes_back):
                wrong.append(f"{each.verifier} {status} {body!r}: {got}")
            if KEY in str(each) or "ada" in str(each.conversation):
                wrong.append(f"{each.verifier} {status} tells: {each.conversation}")

    assert wrong == []


async def test_who_is_told_to_wait_waits_as_long_as_the_service_says() -> None:
    said = {}
    for headers in ({}, {"retry_after": "77"}):
        says = Says(429, b"{}", **headers)
        async with verifiers_at(says) as verifiers:
            others = [each for name, each in verifiers.items() if name != "hunter"]
            found = [await checked(each) for each in others]
        said[len(headers)] = {(each.reason, each.retry_in_s) for each in found}

    assert said == {0: {("rate-limited", 5.0)}, 1: {("rate-limited", 77.0)}}


async def test_an_answer_that_is_not_ready_is_asked_for_again_and_paid_once() -> None:
    says = Says(202)
    async with verifiers_at(says) as verifiers:
        first = await checked(verifiers["hunter"])
        says.status, says.body = 200, PLAIN["hunter"][0]
        second = await checked(verifiers["hunter"])
        third = await checked(verifiers["hunter"])
        (spent,) = await verifiers["hunter"].service._budgets.spending()

    assert [first.reason, second.reason, third.reason] == ["pending", *["said-valid"] * 2]
    assert len(says.web.asked) == 2
    assert spent.micros_today == 10_000


async def test_what_is_settled_is_not_asked() -> None:
    says = Says(200, PLAIN["kickbox"][0])
    async with verifiers_at(says) as verifiers:
        for each in verifiers.values():
            async with each.open("acme.test", DomainFacts(catch_all=True)) as check:
                assert (await check.check("ada@acme.test")).verdict is Verdict.CATCH_ALL

    assert says.web.asked == []


async def test_a_check_costs_one_call_and_says_what_is_left() -> None:
    said = {}
    for name in PLAIN:
        async with verifiers_at(Registry(name)) as verifiers:
            said[name] = await verifiers[name].check()

    assert {each.ended for each in said.values()} == {"works"}
    assert said["neverbounce"].left == "1000 credits"
    assert said["reacher"].usd == 0


async def test_an_instance_of_reacher_without_a_secret_is_checked_the_others_have_no_key() -> (
    None
):
    ended = {}
    for name in PLAIN:
        async with verifiers_at(Registry(name), key="") as verifiers:
            if verifiers[name] is not None:
                ended[name] = (await verifiers[name].check()).ended

    assert ended.pop("reacher") == "works"
    assert set(ended.values()) <= {"not-configured"}


class TestHunter(VerifierContract):
    @pytest.fixture
    async def case(self) -> AsyncIterator[VerifierCase]:
        async with verifiers_at(Registry("hunter")) as verifiers:
            yield VerifierCase(
                verifier=verifiers["hunter"],
                mail_domain="acme.test",
                real="ada@acme.test",
                ghost="bo@acme.test",
                silent_domain="silent.test",
            )
