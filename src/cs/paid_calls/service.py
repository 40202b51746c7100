"""A service with a key, a price and limits, as its adapter uses it.

An adapter declares its settings, makes one `PaidService` and asks it questions.  Everything
else is here: a call is made once for a lookup (`cs.paid_calls.register`), at the rate and
within the caps of the operator over all workers (`cs.paid_calls.budgets`), and any other
response than an answer is one of the problems of `cs.paid_calls.problems`.

```python
class AcmeSettings(ServiceSettings, frozen=True, kw_only=True):
    url: str = "https://api.acme.example/v2"
    calls_per_s: Annotated[float, Meta(gt=0)] = 10.0
    usd_per_call: Annotated[float, Meta(ge=0)] = 0.01


class AcmeAnswer(msgspec.Struct):  # only the fields that are used
    status: str = "unknown"


@takes(AcmeSettings)
def from_context(context: SourceContext) -> Acme:
    settings = msgspec.convert(context.settings, AcmeSettings)
    return Acme(context.service("acme", settings, headers={"X-Api-Key": settings.key}))


# in the adapter
try:
    question = Question(path="/check", params={"q": text})
    answer = await self._service.ask(question, AcmeAnswer)
except ServiceProblem as problem:
    ...  # a people source: `failed_people(self.name, problem)`; a verifier: `UNKNOWN`
```

* **The key** goes into ``headers`` or ``params`` of the service, never into a `Question`: what
  is asked is hashed and compared over workers, and a key may change.
* **The price**: a call reserves ``units`` times the price and pays for what ``charged`` counts
  in the answer (records, credits), or for all of ``units`` without it.  What the service does
  not charge for (`UnchargedProblem`) costs nothing; a time-out counts as charged.
* **A service that means something else** by a status, or says 200 and has an error inside,
  has a ``judge``: it gets the `Response` and returns a problem (`problem`), ``None`` if there
  is none, or `ORDINARY` to leave it to the common table.
* **429** pauses the service for all workers, as long as it asks.  A refused key and used-up
  credits pause it for a minute, so that no list of brands hammers at it.
* **A check** (`PaidService.check`) makes one cheap call, through a pause and remembered
  nowhere, within the caps.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any, TypeVar
from urllib.parse import urlencode

import msgspec
from msgspec import Meta
from structlog import get_logger

from cs.domain.source_cost import MICROS, micros_of
from cs.outside.body import parse_aside
from cs.outside.port import ApiClient, Forbidden, Response, Unreachable
from cs.paid_calls.budgets import (
    BucketEmpty,
    Budgets,
    OverCap,
    Reservation,
    ReserveRequest,
    ServiceLimits,
    ServicePaused,
    Spending,
)
from cs.paid_calls.current_work import note_call, note_spent
from cs.paid_calls.errors import CallsUnavailable, Unanswered
from cs.paid_calls.problems import (
    AWAY,
    FOR_THE_OPERATOR,
    PAUSE_S,
    REFUSED_PAUSE_S,
    NotSentProblem,
    ProblemKind,
    ServiceProblem,
    UnchargedProblem,
    judge_status,
    of_unreachable,
    problem,
    read_answer,
)
from cs.paid_calls.register import PaidCalls

log = get_logger()

T = TypeVar("T")

#: How long a call waits for its place in the bucket: with the client's 10 s it stays within
#: the 12 s of a paid call.
PATIENCE_S = 1.5


#: Kinds of problems that `deploy/monitoring` has alerts for.
ALERTED = FOR_THE_OPERATOR | {ProblemKind.OVER_CAP, ProblemKind.RATE_LIMITED}

#: What a header can carry (RFC 9110, 5.5): no line break, no control, nothing but ASCII.
_KEY = r"^([!-~]([ -~]*[!-~])?)?\Z"


class ServiceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of every service with a key; an adapter inherits them and sets the defaults."""

    url: Annotated[str, Meta(pattern=r"^(https?://\S+)?$", description="base of its API")] = ""
    key: Annotated[
        str,
        Meta(
            pattern=_KEY,
            description="of your account there, printable ASCII in one line; empty: not asked",
        ),
    ] = ""
    calls_per_s: Annotated[
        float, Meta(gt=0, le=1000, description="of all workers together")
    ] = 1.0
    burst: Annotated[int, Meta(ge=1, le=1000, description="calls at once after a pause")] = 1
    usd_per_call: Annotated[
        float, Meta(ge=0, le=1000, description="what your plan charges")
    ] = 0.0
    usd_per_day: Annotated[
        float, Meta(ge=0, le=1e9, description="most that is spent in a day of UTC")
    ] = 10.0
    usd_per_month: Annotated[
        float, Meta(ge=0, le=1e9, description="most that is spent in a month of UTC")
    ] = 100.0

    @property
    def limits(self) -> ServiceLimits:
        return ServiceLimits(
            calls_per_s=self.calls_per_s,
            burst=self.burst,
            micros_per_day=micros_of(self.usd_per_day),
            micros_per_month=micros_of(self.usd_per_month),
        )


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a service.

    Attributes:
        path: After the base URL, with its ``/``.
        params: Of the query.
        json: Posted as JSON, if it is given.
        units: How many prices it can cost at most: records, credits.
    """

    path: str
    params: Mapping[str, str] = {}
    json: Any = None
    units: int = 1


class _Ordinary:
    """The type of `ORDINARY`."""


#: Returned by a judge to leave the answer to the common table.
ORDINARY = _Ordinary()
#: What is wrong with an answer, ``None`` if nothing is, or `ORDINARY`.
Judgement = ServiceProblem | _Ordinary | None
Judge = Callable[[Response], Judgement]


#: Ends of a check, next to the kinds of problems.
WORKS, NOT_CONFIGURED, NOT_CHECKED = "works", "not-configured", "not-checked"


class ServiceCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check of a service.

    Attributes:
        ended: ``works``, ``not-configured``, ``not-checked``, or the kind of the problem.
        why: For people: why it does not work, or what it can be asked.
        left: Credits or calls that are left, in the words of the service.
        usd: The highest cost of the check.
        usd_per_call: The price in the settings; the caps follow.
        usd_today: Spent so far, including the check; the same this month follows.
    """

    ended: str
    why: str | None = None
    left: str | None = None
    usd: float = 0.0
    usd_per_call: float | None = None
    usd_per_day: float | None = None
    usd_per_month: float | None = None
    usd_today: float | None = None
    usd_this_month: float | None = None


class CheckedPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """One plug-in and how its check ended.

    Attributes:
        kind: ``brand source``, ``people source``, ``second opinion`` or ``verifier``.
    """

    name: str
    kind: str
    found: ServiceCheck


class PaidService:
    """Asks the service *name*; see the module.

    Args:
        name: The same for the same account: bucket, caps and answers are shared under it.
        settings: The settings of the adapter.
        client: The HTTP client for base URLs of the settings.
        paid: Makes each call once for a lookup.
        budgets: Rate and caps over all workers.
        headers: Sent with each call: the key, the account.
        params: The same, for services that take them in the query.
        judge: Called with each answer before the common table is used.
        away_pause_s: How long it is not asked after it was away: for a service that the work
            can do without.  ``None``: it is asked again at once.
        now: The time, with its offset.
        wait: Sleeps for a number of seconds.
    """

    def __init__(
        self,
        name: str,
        settings: ServiceSettings,
        client: ApiClient,
        *,
        paid: PaidCalls,
        budgets: Budgets,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        judge: Judge | None = None,
        away_pause_s: float | None = None,
        now: Callable[[], datetime],
        wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.name = name
        self._away_pause_s = away_pause_s
        self._settings = settings
        self._url = settings.url.rstrip("/")
        self._client = client
        self._paid = paid
        self._budgets = budgets
        self._headers = dict(headers or {})
        self._params = dict(params or {})
        self._judge = judge
        self._now = now
        self._wait = wait
        self._problems = paid.metrics.paid_problems
        for kind in ALERTED:  # at 0: an alert sees the first one as an increase
            self._problems.of(name, kind.value)
        for period, usd in (("day", settings.usd_per_day), ("month", settings.usd_per_month)):
            paid.metrics.spending_cap.of(name, period).set(usd)

    async def ask(
        self, question: Question, kind: type[T], *, charged: Callable[[T], int] | None = None
    ) -> T:
        """Return the answer to *question*, asked at most once in a lookup.

        Args:
            question: The question.
            kind: The type of the JSON of the answer; other fields than its own are ignored.
            charged: Returns the units that an answer costs; all of *question* without it.

        Raises:
            ServiceProblem: There is no usable answer.
        """
        try:
            return await self._ask(question, kind, charged)
        except ServiceProblem as found:
            # Our own `calls_per_s`, or a pause after a 429, is no further 429.
            limited = found.kind is ProblemKind.RATE_LIMITED
            if not (limited and isinstance(found, NotSentProblem)):
                self._problems.of(self.name, found.kind.value).inc()
            raise

    async def _ask(
        self, question: Question, kind: type[T], charged: Callable[[T], int] | None
    ) -> T:
        async def make(_idempotency_key: str) -> bytes:
            reserved = await self._reserve(question)
            answer = await self._send(question, reserved)
            try:
                found = await self._read(answer.body, kind)
            except ServiceProblem:
                note_spent(self.name, reserved.micros)  # what it was charged is not known
                raise
            units = charged(found) if charged else question.units
            await self._settle(reserved, self._price(units))
            return answer.body

        try:
            body = await self._paid.once(self.name, _asked(question), make)
        except Unanswered as error:
            why = f"{self.name} was asked before, and its answer is lost"
            raise problem(ProblemKind.LOST, why) from error
        except CallsUnavailable as error:
            raise problem(ProblemKind.AWAY, str(error)) from error
        return await self._read(body, kind)

    async def check(
        self,
        question: Question,
        left: Callable[[Response], str | None] | None = None,
        *,
        needs_key: bool = True,
    ) -> ServiceCheck:
        """Ask *question*, one that costs little, and return whether the service works.

        Args:
            question: The question.
            left: Returns what is left of credits or calls, from the answer.
            needs_key: Do not ask without a key.
        """
        settings = self._settings
        if needs_key and not settings.key:
            found = ServiceCheck(ended=NOT_CONFIGURED, why="it has no key")
        else:
            found = await self._checked(question, left)
        spent: Spending | None = None
        with suppress(CallsUnavailable):
            every = {each.service: each for each in await self._budgets.spending()}
            spent = every.get(self.name, Spending(service=self.name))
        return msgspec.structs.replace(
            found,
            usd_per_call=settings.usd_per_call,
            usd_per_day=settings.usd_per_day,
            usd_per_month=settings.usd_per_month,
            usd_today=spent.micros_today / MICROS if spent else None,
            usd_this_month=spent.micros_this_month / MICROS if spent else None,
        )

    async def _checked(
        self, question: Question, left: Callable[[Response], str | None] | None
    ) -> ServiceCheck:
        try:
            reserved = await self._reserve(question, through_pause=True)
            answer = await self._send(question, reserved)
            await self._settle(reserved, reserved.micros)
            await self._resume()
            await self._read(answer.body, dict[str, Any])
        except ServiceProblem as wrong:
            if wrong.kind is not ProblemKind.NOTHING:
                return ServiceCheck(ended=wrong.kind.value, why=wrong.why)
            await self._resume()  # it knows us, and none of the people asked about
            return ServiceCheck(ended=WORKS)
        except CallsUnavailable as error:
            return ServiceCheck(ended=ProblemKind.AWAY.value, why=str(error))
        usd = self._settings.usd_per_call * question.units
        return ServiceCheck(ended=WORKS, left=left(answer) if left else None, usd=usd)

    async def _resume(self) -> None:
        with suppress(CallsUnavailable):  # a pause ends by itself
            await self._budgets.resume(self.name)

    # The parts of one call.

    async def _reserve(self, question: Question, *, through_pause: bool = False) -> Reservation:
        """Reserve the highest price of *question*, and wait for its place in the bucket.

        Raises:
            NotSentProblem: ``rate-limited``, ``over-cap``, or the reason of a pause.
        """
        asked = ReserveRequest(
            service=self.name,
            limits=self._settings.limits,
            micros=self._price(question.units),
            patience_s=PATIENCE_S,
            through_pause=through_pause,
        )
        match await self._budgets.reserve(asked):
            case Reservation() as reserved:
                try:
                    if reserved.delay_s > 0:
                        await self._wait(reserved.delay_s)
                except BaseException:
                    await self._settle_in_account(reserved, 0, made=False)
                    raise
                return reserved
            case BucketEmpty(left_s=left_s):
                why = f"{self.name} is asked as fast as the settings allow"
                raise NotSentProblem(ProblemKind.RATE_LIMITED, why, left_s)
            case ServicePaused(left_s=left_s, why=kind):
                why = f"{self.name} is left alone for {left_s:.0f} s: {kind}"
                raise NotSentProblem(ProblemKind(kind), why, left_s)
            case OverCap(cap=cap, spent_micros=spent, left_s=left_s, of_total=of_total):
                whose = "all services together" if of_total else self.name
                why = (
                    f"usd_per_{cap} of {whose} does not allow another call: "
                    f"${spent / MICROS:.2f} are spent"
                )
                raise NotSentProblem(ProblemKind.OVER_CAP, why, left_s)

    async def _send(self, question: Question, reserved: Reservation) -> Response:
        """Return the answer, if it can be read; otherwise the call is accounted for.

        Raises:
            ServiceProblem: There is none, or it is not one that can be read.
        """
        try:
            answer = await self._fetch(question)
        except asyncio.CancelledError:  # the caller has no more time: it stays reserved
            note_call(self.name)
            note_spent(self.name, reserved.micros)
            raise
        except (Unreachable, Forbidden) as error:
            found = of_unreachable(self.name, error)
            await self._account_for(found, reserved)
            raise found from error
        wrong = self._judged(answer)
        if wrong is None:
            note_call(self.name)
            return answer
        await self._account_for(wrong, reserved)
        raise wrong

    async def _account_for(self, found: ServiceProblem, reserved: Reservation) -> None:
        """Settle a call that ended with *found*, and pause the service if it says so."""
        if isinstance(found, NotSentProblem):
            await self._settle_in_account(reserved, 0, made=False)
        else:
            note_call(self.name)
            if isinstance(found, UnchargedProblem):
                await self._settle_in_account(reserved, 0)
            else:
                note_spent(self.name, reserved.micros)
        await self._pause(found)

    async def _settle(self, reserved: Reservation, micros: int) -> None:
        note_spent(self.name, micros)
        await self._settle_in_account(reserved, micros)

    async def _settle_in_account(
        self, reserved: Reservation, micros: int, *, made: bool = True
    ) -> None:
        """Count *micros* instead of what was reserved.

        Where that cannot be stored, all of it counts: the answer is there, and paid for, and
        is used whatever becomes of the account.
        """
        try:
            await self._budgets.settle(reserved, micros, made=made)
        except CallsUnavailable as error:
            log.warning("paid_service_not_settled", service=self.name, why=str(error))

    async def _read(self, body: bytes, kind: type[T]) -> T:
        return await parse_aside(len(body), read_answer, self.name, body, kind)

    async def _fetch(self, question: Question) -> Response:
        url, params = f"{self._url}{question.path}", {**self._params, **question.params}
        if question.json is None:
            return await self._client.get(url, params=params, headers=self._headers)
        if params:
            url = f"{url}?{urlencode(params)}"
        body = msgspec.json.encode(question.json)
        headers = {"content-type": "application/json", **self._headers}
        return await self._client.post(url, body=body, headers=headers)

    def _judged(self, answer: Response) -> ServiceProblem | None:
        found = self._judge(answer) if self._judge else ORDINARY
        if isinstance(found, _Ordinary):
            return judge_status(self.name, answer, now=self._now())
        return found

    async def _pause(self, found: ServiceProblem) -> None:
        if found.kind is ProblemKind.RATE_LIMITED:
            for_s = found.retry_in_s or PAUSE_S
        elif found.kind in FOR_THE_OPERATOR:
            for_s = REFUSED_PAUSE_S
        elif found.kind in AWAY and self._away_pause_s is not None:
            for_s = self._away_pause_s
        else:
            return
        try:
            await self._budgets.pause(self.name, for_s, found.kind.value)
        except CallsUnavailable as error:
            log.warning("paid_service_not_paused", service=self.name, why=str(error))

    def _price(self, units: int) -> int:
        return micros_of(self._settings.usd_per_call * units)


def _asked(question: Question) -> object:
    return [question.path, sorted(question.params.items()), question.json]
