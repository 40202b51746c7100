"""Verifiers and sources that ask a service over HTTP: data, and one pure function.

An adapter has the question, the shape of the answer and a function from the answer to what it
means: an `Adapter` to a `ServiceVerdict`, a `PeopleAdapter` to sightings, a `BrandAdapter` to
brands.  Everything else is here and in `cs.paid_calls.service`.  Whatever comes instead of an
answer leaves an address `UNKNOWN` with the kind of the problem as its reason, and ends a
source as failed, rate limited or over its budget.  A known catch-all and what is no mailbox
cost nothing.
"""

import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from cs.domain.mail.mailbox import RESTRICTED
from cs.paid_calls.service import NOT_CHECKED
from cs.plugins.declared_settings import PluginFactory
from cs.plugins.paid_context import PaidContext
from cs.plugins.sources import (
    ORDINARY,
    BrandAnswer,
    BrandFacts as BrandFacts,
    BrandMatch as BrandMatch,
    Judge,
    Judgement,
    PaidService,
    PeopleAnswer,
    ProblemKind as ProblemKind,
    Query as Query,
    Question as Question,
    Response as Response,
    ServiceCheck,
    ServiceProblem,
    ServiceSettings as ServiceSettings,
    Sighting as Sighting,
    SourceContext,
    SourceStatus,
    failed_brand,
    failed_people,
    problem,
)
from cs.plugins.verifiers import (
    DomainCheck,
    DomainFacts,
    Evidence,
    Line,
    Verdict as Verdict,
    VerifierContext,
    is_mailbox,
)

T = TypeVar("T")
SettingsT = TypeVar("SettingsT", bound=ServiceSettings)

#: The cost of a service that charges nothing: our own verifier, which shows what servers said,
#: is asked first.
_LEAST_COST_USD = 0.0001
#: Characters of a service's own word that are part of a reason, and of a complaint.
_WORD, _COMPLAINT = 60, 200
#: Characters of a text about a person that `one_question` passes on.
_TEXT = 200
#: Problems after which the stage asks again, in an attempt of its own: no worker waits.
_WORTH_A_WAIT = frozenset({ProblemKind.PENDING, ProblemKind.RATE_LIMITED})
#: Problems that are an answer about the address.
_HEARD = frozenset({ProblemKind.PENDING, ProblemKind.RESTRICTED, ProblemKind.NOTHING})
#: What the words of an error mean, if the adapter does not say.
_COMPLAINTS: Mapping[str, ProblemKind] = {
    r"rate.?limit|too many|throttl": ProblemKind.RATE_LIMITED,
    r"\bcredits?\b|quota|balance|payment": ProblemKind.NO_CREDITS,
    r"api.?key|unauthori[sz]ed|credentials|\btoken\b": ProblemKind.KEY_REFUSED,
}
#: The score of a hint: it is not counted among the brands that may be meant
#: (`cs.pipeline.brand_choice.PLAUSIBLE`).
HINT = 0.05


class HostedSettings(ServiceSettings, frozen=True, kw_only=True):
    """The settings of a verifier of a service, in addition to `ServiceSettings`.

    example.com takes no mail (null MX), so asking about it troubles no one and the answer is
    known.
    """

    trial_address: Annotated[str, Meta(description="asked about by cs verifiers check")] = (
        "nobody@example.com"
    )


class ServiceVerdict(msgspec.Struct, frozen=True):
    """The meaning of a service's answer.

    Attributes:
        verdict: Of the address.
        reason: A stable word, lower-case: ``said-valid``.
        catch_all: What it says of the whole domain, if it does.
        told: The words of the service, for the evidence; they name no person.
    """

    verdict: Verdict
    reason: str
    catch_all: bool | None = None
    told: tuple[str, ...] = ()


def said(
    verdict: Verdict, *words: str, told: str = "", catch_all: bool | None = None
) -> ServiceVerdict:
    """Return what a service's answer means that says *words*: ``said-valid``, ``catch-all``."""
    lines = (told,) if told else ()
    if verdict is Verdict.CATCH_ALL:
        return ServiceVerdict(verdict, "catch-all", catch_all=True, told=lines)
    reason = "-".join(("said", *filter(None, map(word, words))))
    return ServiceVerdict(verdict, reason, catch_all=catch_all, told=lines)


def word(text: str) -> str:
    """Return what a service calls something, as part of a reason."""
    return "-".join(text.lower()[:_WORD].replace("_", "-").split())


def fields(answer: Response) -> Mapping[str, Any]:
    """Return the fields of the JSON object in *answer*; none if it is no object."""
    try:
        return msgspec.json.decode(answer.body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


class _StatedError(msgspec.Struct):
    """Where services state an error; read alone, as the rest of an answer may be long."""

    error: Any = None
    errors: Any = None
    status: Any = None
    code: Any = msgspec.field(default=None, name="statusCode")
    message: Any = None


def _stated_error(answer: Response) -> str | None:
    """Return the error that *answer* states instead of what was asked for."""
    try:
        stated = msgspec.json.decode(answer.body, type=_StatedError)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    found = stated.error or stated.errors
    refused = stated.status == "error" or (isinstance(stated.code, int) and stated.code >= 400)
    if not found and not refused:
        return None
    said = found or stated.message or stated.status or stated.code
    return said if isinstance(said, str) else msgspec.json.encode(said).decode()


def _has_results(answer: Response) -> bool:
    """Say whether *answer* has a list or an object with anything in it besides its error."""
    return any(
        isinstance(value, list | dict) and value
        for name, value in fields(answer).items()
        if name not in {"error", "errors", "meta"}
    )


class _Service(msgspec.Struct, Generic[SettingsT], frozen=True, kw_only=True):
    """The fields that every kind of adapter has.

    Attributes:
        name: Of the plug-in: that of its entry point.
        settings: What it takes, with its defaults.
        key_header: The header that the key stands in.
        key_param: Or the parameter of the query.
        needs_key: Whether nothing is asked without a key.
        statuses: Status codes that mean something else with this service than with others.
        complaint: What an answer with status 200 says is wrong, if it is stated otherwise than
            by ``error``, ``errors``, ``"status": "error"`` or a ``statusCode``.
        complaints: What that means, by regular expressions; the first that is found counts.
        complains: What any other complaint means.
        pause_s: How long it is not asked after a `RATE_LIMITED` of the three above.
        judged: Looks before all of them, and returns `ORDINARY` for what they know.
        left: What an answer says is left of credits, if anything.
    """

    name: str
    settings: type[SettingsT]
    key_header: str | None = None
    key_param: str | None = None
    needs_key: bool = True
    statuses: Mapping[int, ProblemKind] = {}
    complaint: Callable[[Mapping[str, Any]], str | None] | None = None
    complaints: Mapping[str, ProblemKind] = msgspec.field(default_factory=lambda: _COMPLAINTS)
    complains: ProblemKind = ProblemKind.BAD_QUESTION
    pause_s: float = 10.0
    judged: Judge | None = None
    left: Callable[[Response], str | None] | None = None

    def judge(self, answer: Response) -> Judgement:
        """Return the problem that *answer* means by the service's own rules."""
        if self.judged is not None and (found := self.judged(answer)) is not ORDINARY:
            return found
        kind = self.statuses.get(answer.status)
        if kind is not None:
            return self._problem(kind, f"{self.name} answers {answer.status}")
        if answer.status != 200:
            return ORDINARY
        own = self.complaint
        complaint = _stated_error(answer) if own is None else own(fields(answer))
        if complaint is None:
            return ORDINARY
        for pattern, meant in self.complaints.items():
            if re.search(pattern, complaint.lower()):
                kind = meant
                break
        if kind is None and own is None and _has_results(answer):
            kind = ProblemKind.WRONG_SHAPE  # the service may have charged for them
        # A log leaves out what is quoted, and it may hold an address.
        why = f"{self.name} says {complaint[:_COMPLAINT]!r}"
        return self._problem(kind or self.complains, why)

    def _problem(self, kind: ProblemKind, why: str) -> ServiceProblem:
        return problem(kind, why, self.pause_s if kind is ProblemKind.RATE_LIMITED else None)

    def service_in(self, context: PaidContext, settings: SettingsT) -> PaidService:
        """Return the service, asked with the key of *settings*."""
        headers, params = {"accept": "application/json"}, {}
        if settings.key and self.key_header:
            headers[self.key_header] = settings.key
        if settings.key and self.key_param:
            params[self.key_param] = settings.key
        return context.service(
            self.name, settings, headers=headers, params=params, judge=self.judge
        )

    def missing_in(self, settings: SettingsT) -> str | None:
        """Return the setting without which nothing is asked."""
        if not settings.url:
            return "url"
        return "key" if self.needs_key and not settings.key else None


# Verifiers.


class Adapter(_Service[HostedSettings], Generic[T], frozen=True, kw_only=True):
    """A verifier.

    Attributes:
        question: About an address.
        answer: The shape of what it answers; a field without a default must be there.
        read: What an answer means.
        charged: How many calls an answer costs, where some are free.
    """

    question: Callable[[str], Question]
    answer: type[T]
    read: Callable[[T], ServiceVerdict]
    charged: Callable[[T], int] | None = None

    @property
    def from_context(self) -> PluginFactory[VerifierContext, "HostedVerifier[T] | None"]:
        """Return the factory that the entry point names."""
        return PluginFactory(self.make, self.settings)

    def make(self, context: VerifierContext) -> "HostedVerifier[T] | None":
        """Return the verifier; ``None`` without an HTTP client, a URL or a key it needs."""
        settings = msgspec.convert(context.settings, self.settings)
        if context.fetcher is None or self.missing_in(settings):
            return None
        return HostedVerifier(self, self.service_in(context, settings), settings, context.now)


class HostedVerifier(Generic[T]):
    """Asks the service of an `Adapter`."""

    def __init__(
        self,
        adapter: Adapter[T],
        service: PaidService,
        settings: HostedSettings,
        now: Callable[[], datetime],
    ) -> None:
        self.name = adapter.name
        self.cost = max(_LEAST_COST_USD, settings.usd_per_call)
        self.adapter = adapter
        self.service = service
        self.now = now
        self._trial_address = settings.trial_address

    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator[DomainCheck]:
        del mail_domain
        yield _HostedCheck(self, known)

    async def check(self) -> ServiceCheck:
        """Ask once about the trial address, and say whether the service works."""
        return await self.service.check(
            self.adapter.question(self._trial_address),
            self.adapter.left,
            needs_key=self.adapter.needs_key,
        )


class _HostedCheck(Generic[T]):
    """One mail domain; that it is a catch-all is learned for its next address."""

    def __init__(self, verifier: HostedVerifier[T], known: DomainFacts) -> None:
        self._verifier = verifier
        self.learned = known

    async def check(self, address: str) -> Evidence:
        """Find out about *address*; no request is made where that is of no use."""
        if not is_mailbox(address):
            return self._evidence(address, ServiceVerdict(Verdict.UNDELIVERABLE, "bad-address"))
        if self.learned.catch_all:
            return self._evidence(address, said(Verdict.CATCH_ALL))
        adapter = self._verifier.adapter
        try:
            answer = await self._verifier.service.ask(
                adapter.question(address), adapter.answer, charged=adapter.charged
            )
        except ServiceProblem as wrong:
            restricted = wrong.kind is ProblemKind.RESTRICTED
            reason = RESTRICTED if restricted else wrong.kind.value
            found = ServiceVerdict(Verdict.UNKNOWN, reason, told=(f"[{wrong.why}]",))
            # A worker that dies, a used-up cap, a refused key: nothing that passes by waiting.
            wait_s = wrong.retry_in_s if wrong.kind in _WORTH_A_WAIT else None
            return self._evidence(address, found, wait_s, answered=wrong.kind in _HEARD)
        found = adapter.read(answer)
        if found.catch_all is not None:
            self.learned = msgspec.structs.replace(self.learned, catch_all=found.catch_all)
        return self._evidence(address, found)

    def _evidence(
        self,
        address: str,
        found: ServiceVerdict,
        retry_in_s: float | None = None,
        *,
        answered: bool = True,
    ) -> Evidence:
        return Evidence(
            address=address,
            verdict=found.verdict,
            reason=found.reason,
            verifier=self._verifier.name,
            at=self._verifier.now(),
            conversation=tuple(
                Line(at_ms=0, who="C" if text.startswith("[") else "S", text=text)
                for text in found.told
            ),
            retry_in_s=retry_in_s,
            answered=answered,
        )


# Sources.


class _Source(_Service[SettingsT], frozen=True, kw_only=True):
    """Further answers of a source.

    Attributes:
        price: Which of the settings is the price of a question.
        trial: Asked by ``cs sources check``: costs little, or nothing.
    """

    price: str = "usd_per_call"
    trial: Question | None = None


class HostedSource(Generic[SettingsT]):
    """Asks the service of an adapter.

    Attributes:
        missing: What has to be set before anything is asked.
    """

    def __init__(self, adapter: _Source[SettingsT], context: SourceContext) -> None:
        given = msgspec.convert(context.settings, adapter.settings)
        self.name = adapter.name
        self.settings: SettingsT = replace(given, usd_per_call=getattr(given, adapter.price))
        self.service = adapter.service_in(context, self.settings)
        missing = adapter.missing_in(self.settings)
        self.missing = missing and f"set sources.{self.name}.{missing}"
        self._adapter = adapter

    async def check(self) -> ServiceCheck:
        """Make one call that costs as little as can be, and say whether the service works."""
        trial = self._adapter.trial
        if trial is None:
            return ServiceCheck(ended=NOT_CHECKED, why="it has no check of its own")
        found = await self.service.check(
            trial, self._adapter.left, needs_key=self._adapter.needs_key
        )
        return found if self.missing is None else replace(found, why=self.missing)

    async def ask(
        self, question: Question, shape: type[T], charged: Callable[[T], int] | None = None
    ) -> T | None:
        """Return the answer to *question*; ``None`` if the service knows nothing of it.

        Raises:
            ServiceProblem: There is no usable answer.
        """
        try:
            return await self.service.ask(question, shape, charged=charged)
        except ServiceProblem as refused:
            if refused.kind is ProblemKind.NOTHING:
                return None
            raise


#: Yields people who work for a brand, at most so many, in addition to those known from other
#: sources; it may raise `ServiceProblem`.
AskForPeople = Callable[
    [HostedSource[SettingsT], BrandFacts, int, Sequence[Sighting]], AsyncIterator[Sighting]
]


class PeopleAdapter(_Source[SettingsT], frozen=True, kw_only=True):
    """A people source.

    Attributes:
        people: Asks; `one_question` makes it of a question and a pure function.
        units: How many prices a search can cost at most.
    """

    people: AskForPeople[SettingsT]
    units: Callable[[SettingsT], int] = lambda _: 1

    @property
    def from_context(self) -> PluginFactory[SourceContext, "HostedPeopleSource[SettingsT]"]:
        """Return the factory that the entry point names."""
        return PluginFactory(lambda context: HostedPeopleSource(self, context), self.settings)


def one_question(
    question: Callable[[BrandFacts, int], Question],
    answer: type[T],
    read: Callable[[T], Iterable[Sighting]],
    charged: Callable[[T], int] | None = None,
) -> AskForPeople[Any]:
    """Return what asks one question about a brand, for so many people.

    Control characters are taken out of what it reads, and who has no name is left out.

    Args:
        question: About a brand.
        answer: The shape of the answer; a field without a default must be there.
        read: The people that an answer names.
        charged: How many units an answer costs, where that is not all that were reserved.
    """

    async def people(
        source: HostedSource[Any], brand: BrandFacts, limit: int, _known: Sequence[Sighting]
    ) -> AsyncIterator[Sighting]:
        found = await source.ask(question(brand, limit), answer, charged)
        for each in () if found is None else read(found):
            person = replace(
                each,
                full_name=_plain(each.full_name) or "",
                headline=_plain(each.headline),
                company=_plain(each.company),
                source=source.name,
            )
            if person.full_name:
                yield person

    return people


def _plain(text: str | None) -> str | None:
    """Return what people read of *text*."""
    return "".join(each for each in text or "" if each.isprintable()).strip()[:_TEXT] or None


class HostedPeopleSource(HostedSource[SettingsT]):
    """Asks the service of a `PeopleAdapter`."""

    def __init__(self, adapter: PeopleAdapter[SettingsT], context: SourceContext) -> None:
        super().__init__(adapter, context)
        self._people = adapter.people
        self.cost = self.settings.usd_per_call * adapter.units(self.settings)

    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        """Find people who work for *brand*; see `cs.plugins.sources.PeopleSource`."""
        return await self.find_new(brand, limit=limit, known=())

    async def find_new(
        self, brand: BrandFacts, *, limit: int, known: Sequence[Sighting]
    ) -> PeopleAnswer:
        """Find people of *brand* who are not *known*; see `cs.plugins.sources.find_new`."""
        found = self._people(self, brand, limit, known)
        return await collected(self.name, found, limit, missing=self.missing)


async def collected(
    source: str, found: AsyncIterator[Sighting], limit: int, *, missing: str | None
) -> PeopleAnswer:
    """Return the first *limit* people *found*, also where a problem ends the run of *source*.

    With something *missing* no request is made.
    """
    if missing is not None:
        ended = SourceStatus.NOT_CONFIGURED
        return PeopleAnswer(source=source, ended=ended, why=missing)
    people: list[Sighting] = []
    try:
        async for each in found:
            people.append(each)  # noqa: PERF401 - kept where a problem ends it
    except ServiceProblem as refused:
        return failed_people(source, refused, tuple(people[:limit]))
    ended = SourceStatus.USED if people else SourceStatus.NO_RESULTS
    return PeopleAnswer(source=source, ended=ended, people=tuple(people[:limit]))


class BrandAdapter(_Source[SettingsT], Generic[SettingsT, T], frozen=True, kw_only=True):
    """A brand source.

    Attributes:
        question: About a brand by name, by domain or both; of what is known from earlier
            sources the domain is in the query.
        answer: The shape of what it answers; a field without a default must be there.
        read: The brands that an answer names.
        hints: It is asked last, only for a name, and what it names counts once the brand's
            own site says the same (`cs.pipeline.brand_hints`): a search engine or a company
            file may have another company of the name.
    """

    question: Callable[[Query], Question]
    answer: type[T]
    read: Callable[[T, Query], Iterable[BrandMatch]]
    hints: bool = False

    @property
    def from_context(self) -> PluginFactory[SourceContext, "HostedBrandSource[SettingsT, T]"]:
        """Return the factory that the entry point names."""
        return PluginFactory(lambda context: HostedBrandSource(self, context), self.settings)


class HostedBrandSource(HostedSource[SettingsT], Generic[SettingsT, T]):
    """Asks the service of a `BrandAdapter`."""

    def __init__(self, adapter: BrandAdapter[SettingsT, T], context: SourceContext) -> None:
        super().__init__(adapter, context)
        self._brand = adapter
        self.hints = adapter.hints

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        """Find the brand of *query*; see `cs.plugins.sources.BrandSource`."""
        if self.missing is not None:
            ended = SourceStatus.NOT_CONFIGURED
            return BrandAnswer(source=self.name, ended=ended, why=self.missing)
        if self.hints:
            name = query.brand if known is None else known.name
            if name is None or query.domain is not None:
                return BrandAnswer(source=self.name, ended=SourceStatus.NO_RESULTS)
            query = Query(brand=name)
        elif known is not None and query.domain is None:
            query = Query(brand=query.brand, domain=known.domain)
        try:
            found = await self.ask(self._brand.question(query), self._brand.answer)
        except ServiceProblem as refused:
            return failed_brand(self.name, refused)
        matches = list(self._brand.read(found, query)) if found is not None else []
        if self.hints:
            matches = [replace(each, score=HINT) for each in matches]
        matches.sort(key=lambda match: -match.score)
        ended = SourceStatus.USED if matches else SourceStatus.NO_RESULTS
        return BrandAnswer(source=self.name, ended=ended, matches=tuple(matches))


def named(name: str, domain: str, query: Query) -> BrandMatch:
    """Return the brand *name* at *domain*, scored by how well it fits *query*."""
    if domain == query.domain:
        score = 1.0  # the domain that was asked for is its own
    elif name.casefold() == (query.brand or "").casefold():
        score = 0.9  # exactly that name
    else:
        score = 0.5  # something similar
    facts = BrandFacts(name=name, domain=domain, mail_domains=(domain,))
    return BrandMatch(facts=facts, score=score, key=domain)
