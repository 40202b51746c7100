"""A paid service on a real server: what it answers, what it costs, who is asked again."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from cs.admin.health import Readiness
from cs.metrics.metrics import Metrics
from cs.outside.http import TrustedClient
from cs.outside.port import Response
from cs.paid_calls.budgets import Budgets, Reservation, Spending
from cs.paid_calls.current_work import ServiceCalls, count_spent, set_current_lookup
from cs.paid_calls.errors import CallsUnavailable
from cs.paid_calls.problems import ProblemKind, ServiceProblem, problem
from cs.paid_calls.register import PaidCalls
from cs.paid_calls.service import ORDINARY, Judge, PaidService, Question, ServiceSettings
from harness.places import budgets_in, calls_in
from outside.loopback_web import Answer, Web, WebRequest, reply, serve

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
CENT = 10_000  # in millionths of a dollar
ASKED = Question(path="/find", params={"q": "Ada Kern"}, units=3)
KEY = "k3y-of-ours"


class NamesAnswer(msgspec.Struct):
    names: tuple[str, ...] = ()


def saying(
    body: bytes = b"{}", *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Answer:
    async def answer(_: WebRequest, writer: asyncio.StreamWriter) -> None:
        reply(writer, body, status=status, headers=headers)

    return answer


async def silence(_: WebRequest, __: asyncio.StreamWriter) -> None:
    """What `asking` takes for a server that never answers."""


async def hung_up(_: WebRequest, writer: asyncio.StreamWriter) -> None:
    writer.write(b'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"names": [')


@dataclass
class World:
    """A service, its server, and what is counted of both."""

    service: PaidService
    web: Web
    budgets: Budgets
    waited: list[float] = field(default_factory=list)
    metrics: Metrics = field(default_factory=Metrics)

    async def shown(self) -> dict[str, float]:
        """Return what `/metrics` shows of money, by the end of the name and the labels."""
        page, _ = await Readiness(metrics=self.metrics, budgets=self.budgets).page("")
        lines = (line.rpartition(" ") for line in page.decode().splitlines())
        return {name: float(value) for name, _, value in lines if name.startswith("cs_")}

    async def spent(self) -> Spending:
        (spending,) = await self.budgets.spending()
        return spending

    async def problem(self, asked: Question = ASKED) -> ServiceProblem:
        with pytest.raises(ServiceProblem) as found, set_current_lookup("brand-a.1"):
            await self.service.ask(asked, NamesAnswer)
        return found.value


@asynccontextmanager
async def asking(
    answer: Answer, *, total_s: float = 5.0, judge: Judge | None = None, **given: Any
) -> AsyncIterator[World]:
    budgets, waited, over = budgets_in(None), list[float](), asyncio.Event()
    metrics = Metrics()

    async def answered(asked: WebRequest, writer: asyncio.StreamWriter) -> None:
        if answer is silence:
            await over.wait()
        await answer(asked, writer)

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    async with (
        serve(answered) as web,
        TrustedClient(user_agent="cs/test", total_s=total_s) as client,
    ):
        given = {"calls_per_s": 1000.0, "burst": 1000, "usd_per_call": 0.01, **given}
        settings = ServiceSettings(url=f"{web.url}/v2/", key=KEY, **given)
        service = PaidService(
            "acme",
            settings,
            client,
            paid=PaidCalls(calls_in(None), metrics=metrics),
            budgets=budgets,
            headers={"X-Api-Key": KEY},
            judge=judge,
            now=lambda: NOW,
            wait=wait,
        )
        yield World(service, web, budgets, waited, metrics)
        over.set()


GOOD = saying(b'{"names": ["Ada", "Bo"], "more": {"of": "it"}}')
K = ProblemKind

#: What a service does: the kind, when to come back, cents that count as spent, whether the
#: same question may be asked again, whether all workers pause.
FAULTS: list[tuple[str, Answer, K, float | None, int, bool, bool]] = [
    ("no answer", silence, K.TIMEOUT, None, 3, False, False),
    ("cut off", hung_up, K.UNREACHABLE, None, 3, False, False),
    ("429", saying(status=429), K.RATE_LIMITED, 5.0, 0, True, True),
    (
        "429 with Retry-After",
        saying(status=429, headers={"Retry-After": "77"}),
        *(K.RATE_LIMITED, 77.0, 0, True, True),
    ),
    ("202", saying(status=202), K.PENDING, 3.0, 0, True, False),
    ("401", saying(b'{"key": "k3y-of-ours"}', status=401), K.KEY_REFUSED, None, 0, True, True),
    ("403", saying(status=403), K.KEY_REFUSED, None, 0, True, True),
    ("402", saying(status=402), K.NO_CREDITS, None, 0, True, True),
    ("404", saying(b"{}", status=404), K.NOTHING, None, 0, True, False),
    ("400", saying(status=400), K.BAD_QUESTION, None, 0, True, False),
    ("422", saying(status=422), K.BAD_QUESTION, None, 0, True, False),
    ("451", saying(status=451), K.RESTRICTED, None, 0, True, False),
    ("500", saying(b"<h1>oops</h1>", status=500), K.OUT_OF_ORDER, None, 0, True, False),
    (
        "503 with Retry-After",
        saying(status=503, headers={"Retry-After": "9"}),
        *(K.OUT_OF_ORDER, 9.0, 0, True, False),
    ),
    ("504", saying(status=504), K.TIMEOUT, None, 3, False, False),
    ("web page", saying(b"<!doctype html><p>Log in"), K.NOT_JSON, None, 3, False, False),
    ("half of it", saying(b'{"names": ["Ada'), K.NOT_JSON, None, 3, False, False),
    ("nothing", saying(b""), K.NOT_JSON, None, 3, False, False),
    ("no UTF-8", saying(b'{"names": ["\xff"]}'), K.NOT_JSON, None, 3, False, False),
    ("nested", saying(b'{"x":' * 100_000), K.NOT_JSON, None, 3, False, False),
    ("wrong type", saying(b'{"names": {"Ada": 1}}'), K.WRONG_SHAPE, None, 3, False, False),
    ("a list", saying(b'["Ada"]'), K.WRONG_SHAPE, None, 3, False, False),
    (
        "elsewhere",
        saying(status=302, headers={"Location": "https://x.example/"}),
        *(K.UNREACHABLE, None, 3, False, False),
    ),
]


async def test_each_fault_is_reported_one_way_and_costs_what_it_may_have_cost() -> None:
    wrong = []
    for name, answer, kind, retry_in_s, most, again, pauses in FAULTS:
        async with asking(answer, total_s=0.2 if answer is silence else 5.0) as world:
            found = await world.problem()
            spent = await world.spent()
            await world.budgets.resume("acme")
            asked_before = len(world.web.asked)
            second = await world.problem()
            asked_again = len(world.web.asked) > asked_before
        cents, paused = spent.micros_today // CENT, spent.paused_s > 0
        got = (found.kind, found.retry_in_s, cents, asked_again, paused)
        if got != (kind, retry_in_s, most, again, pauses):
            wrong.append(f"{name}: {got}")
        if second.kind is not (kind if again else K.LOST):
            wrong.append(f"{name}: then {second.kind}")
        if found.permanent is not (kind in {K.KEY_REFUSED, K.NO_CREDITS}):
            wrong.append(f"{name}: permanent {found.permanent}")
        if KEY in found.why or "Ada" in found.why or not found.why.startswith("acme "):
            wrong.append(f"{name}: says {found.why}")
    assert not wrong, "\n".join(wrong)


async def test_an_answer_is_paid_for_once_and_for_what_was_charged() -> None:
    async with asking(GOOD) as world, asyncio.timeout(5):
        with set_current_lookup("brand-a.1"), count_spent() as spent:
            first = await world.service.ask(
                ASKED, NamesAnswer, charged=lambda it: len(it.names)
            )
            again = await world.service.ask(
                ASKED, NamesAnswer, charged=lambda it: len(it.names)
            )
        account = await world.spent()

    assert first == again == NamesAnswer(names=("Ada", "Bo"))
    assert len(world.web.asked) == 1
    assert (account.calls_today, account.micros_today) == (1, 2 * CENT)
    assert spent == {"acme": ServiceCalls(calls=1, micros=2 * CENT)}
    (asked,) = world.web.asked
    assert asked.path == "/v2/find?q=Ada+Kern"
    assert asked.headers["x-api-key"] == KEY


async def test_a_question_with_json_is_posted() -> None:
    async with asking(GOOD) as world:
        await world.service.ask(Question(path="/find", json={"q": "Ada"}), NamesAnswer)

    (asked,) = world.web.asked
    assert (asked.method, json.loads(asked.body)) == ("POST", {"q": "Ada"})
    assert asked.headers["content-type"] == "application/json"


async def test_a_cap_is_kept_before_the_call() -> None:
    async with asking(GOOD, usd_per_day=0.05) as world:
        with set_current_lookup("brand-a.1"):
            await world.service.ask(ASKED, NamesAnswer)
        other = Question(path="/find", params={"q": "Bo"}, units=3)
        found = await world.problem(other)
        cheaper = Question(path="/find", params={"q": "Bo"}, units=2)
        with set_current_lookup("brand-a.1"):
            await world.service.ask(cheaper, NamesAnswer)
        shown = await world.shown()

    assert shown['cs_spent_usd{period="day",provider="acme"}'] == 0.05
    assert shown['cs_spending_cap_usd{period="day",provider="acme"}'] == 0.05
    assert shown['cs_spending_cap_usd{period="month",provider="acme"}'] == 100
    problems = 'cs_paid_problems_total{{problem="{}",provider="acme"}}'.format
    assert shown[problems("over-cap")] == 1
    assert shown[problems("no-credits")] == 0, "its first one is to be an increase"
    assert found.kind is K.OVER_CAP
    assert found.why == "usd_per_day of acme does not allow another call: $0.03 are spent"
    assert found.retry_in_s is not None
    assert len(world.web.asked) == 2


async def test_a_call_too_soon_waits_a_little_or_is_refused_with_a_time() -> None:
    async with asking(GOOD, calls_per_s=1.0, burst=1) as world:
        questions = [Question(path="/find", params={"q": str(n)}) for n in range(3)]
        for question in questions[:2]:
            await world.service.ask(question, NamesAnswer)
        found = await world.problem(questions[2])
        shown = await world.shown()

    problems = 'cs_paid_problems_total{problem="rate-limited",provider="acme"}'
    assert shown[problems] == 0, "the service answered no 429"
    assert len(world.web.asked) == 2
    assert [round(seconds) for seconds in world.waited] == [1]
    assert found.kind is K.RATE_LIMITED
    assert round(found.retry_in_s or 0) == 2


async def test_a_call_cancelled_in_the_queue_costs_nothing() -> None:
    async with asking(GOOD, calls_per_s=1.0, burst=1) as world:
        await world.service.ask(ASKED, NamesAnswer)

        async def cancelled(_: float) -> None:
            raise asyncio.CancelledError

        world.service._wait = cancelled
        with pytest.raises(asyncio.CancelledError):
            await world.service.ask(Question(path="/find"), NamesAnswer)
        spent = await world.spent()

    assert (spent.calls_today, spent.micros_today) == (1, 3 * CENT)


async def test_a_service_may_mean_something_else_by_a_status() -> None:
    def judge(answer: Response) -> Any:
        if answer.status == 403:
            return problem(K.RATE_LIMITED, "acme asks us to come back later", 4.0)
        if b'"error"' in answer.body:
            return problem(K.NO_CREDITS, "acme has no credits left")
        return None if answer.status == 404 else ORDINARY

    cases: list[tuple[Answer, K | None]] = [
        (saying(status=403), K.RATE_LIMITED),
        (saying(b'{"error": "no credits"}'), K.NO_CREDITS),
        (saying(b"{}", status=404), None),
        (saying(status=500), K.OUT_OF_ORDER),
    ]
    for answer, kind in cases:
        async with asking(answer, judge=judge) as world:
            if kind is None:
                assert await world.service.ask(ASKED, NamesAnswer) == NamesAnswer()
            else:
                assert (await world.problem()).kind is kind


async def test_no_service_is_asked_while_the_account_is_away() -> None:
    async with asking(GOOD) as world:
        world.budgets.reserve = away  # type: ignore[method-assign]
        found = await world.problem()

    assert (found.kind, world.web.asked) == (K.AWAY, [])


async def test_an_answer_is_used_though_it_cannot_be_settled() -> None:
    async with asking(GOOD) as world:
        world.budgets.settle = away  # type: ignore[method-assign, assignment]
        found = await world.service.ask(ASKED, NamesAnswer, charged=lambda _: 1)
        spent = await world.spent()

    assert found.names
    assert spent.micros_today == 3 * CENT, "all that was reserved"


async def away(*_: object, **__: object) -> Reservation:
    raise CallsUnavailable("the account of paid services: away")


async def test_a_check_asks_through_a_pause_ends_it_and_says_what_is_left() -> None:
    async with asking(saying(b"{}", headers={"X-Left": "14"})) as world:
        await world.budgets.pause("acme", 60, "no-credits")
        check = await world.service.check(
            Question(path="/me"), left=lambda answer: f"{answer.headers['x-left']} calls"
        )
        spent = await world.spent()

    assert (check.ended, check.left, check.usd) == ("works", "14 calls", 0.01)
    assert (spent.micros_today, spent.paused_why) == (CENT, "")
