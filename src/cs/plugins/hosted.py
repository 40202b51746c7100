"""A verifier that asks a service over HTTP: data, and one pure function.

An `Adapter` has the question, the shape of the answer and a function from the answer to a
`ServiceVerdict`.  Everything else is here and in `cs.paid_calls.service`: a known catch-all
and what is no mailbox cost nothing, and whatever comes instead of an answer leaves the
address `UNKNOWN`, with the kind of the problem as its reason.
"""

import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import Meta

from cs.domain.mail.mailbox import RESTRICTED
from cs.plugins.declared_settings import PluginFactory
from cs.plugins.verifiers import (
    ORDINARY,
    DomainCheck,
    DomainFacts,
    Evidence,
    Judgement,
    Line,
    PaidService,
    ProblemKind,
    Question,
    Response,
    ServiceCheck,
    ServiceProblem,
    ServiceSettings,
    Verdict,
    VerifierContext,
    is_mailbox,
    problem,
)

__all__ = [
    "Adapter",
    "HostedSettings",
    "HostedVerifier",
    "ProblemKind",
    "Question",
    "Response",
    "ServiceVerdict",
    "Verdict",
    "said",
    "word",
]

T = TypeVar("T")

#: The cost of a service that charges nothing: our own verifier, which shows what servers said,
#: is asked first.
_LEAST_COST_USD = 0.0001
#: Characters of a service's own word that are part of a reason, and of a complaint.
_WORD, _COMPLAINT = 60, 200
#: Problems after which the stage asks again, in an attempt of its own: no worker waits.
_WORTH_A_WAIT = frozenset({ProblemKind.PENDING, ProblemKind.RATE_LIMITED})
#: Problems that are an answer about the address.
_HEARD = frozenset({ProblemKind.PENDING, ProblemKind.RESTRICTED, ProblemKind.NOTHING})


class HostedSettings(ServiceSettings, frozen=True, kw_only=True):
    """What each of them takes besides `ServiceSettings`.

    example.com takes no mail (null MX), so asking about it troubles no one and the answer is
    known.
    """

    trial_address: Annotated[str, Meta(description="asked about by cs verifiers check")] = (
        "nobody@example.com"
    )


class ServiceVerdict(msgspec.Struct, frozen=True):
    """What a service's answer means.

    Attributes:
        verdict: Of the address.
        reason: A stable word, lower-case: ``said-valid``.
        catch_all: What it says of the whole domain, if it does.
        told: The words of the service, for the evidence; they name nobody.
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


def _no_complaint(_answer: Mapping[str, Any]) -> str | None:
    return None


class Adapter(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """One service: how it is asked and what it answers.

    Attributes:
        name: Of the verifier: that of its entry point.
        settings: What it takes, with its defaults.
        key_header: The header that the key stands in.
        key_param: Or the parameter of the query.
        question: About an address.
        answer: The shape of what it answers; a field without a default must be there.
        read: What an answer means.
        statuses: Status codes that mean something else with this service than with others.
        complaint: What an answer with status 200 says is wrong, if the service does that.
        complaints: What that means, by regular expressions; the first that is found counts.
        complains: What any other complaint means.
        pause_s: How long nobody asks after a `RATE_LIMITED` of the three above.
        left: What an answer says is left of credits, if anything.
        charged: How many calls an answer costs, where some are free.
        needs_key: Whether there is no verifier without a key.
    """

    name: str
    settings: type[HostedSettings]
    question: Callable[[str], Question]
    answer: type[T]
    read: Callable[[T], ServiceVerdict]
    key_header: str | None = None
    key_param: str | None = None
    statuses: Mapping[int, ProblemKind] = {}
    complaint: Callable[[Mapping[str, Any]], str | None] = _no_complaint
    complaints: Mapping[str, ProblemKind] = {}
    complains: ProblemKind = ProblemKind.BAD_QUESTION
    pause_s: float = 10.0
    left: Callable[[Mapping[str, Any]], str | None] | None = None
    charged: Callable[[T], int] | None = None
    needs_key: bool = True

    @property
    def from_context(self) -> PluginFactory[VerifierContext, "HostedVerifier[T] | None"]:
        """What the entry point names."""
        return PluginFactory(self.make, self.settings)

    def make(self, context: VerifierContext) -> "HostedVerifier[T] | None":
        """Return the verifier; ``None`` without an HTTP client, a URL or a key it needs."""
        settings = msgspec.convert(context.settings, self.settings)
        if context.fetcher is None or not settings.url:
            return None
        if self.needs_key and not settings.key:
            return None
        headers = {self.key_header: settings.key} if self.key_header and settings.key else None
        params = {self.key_param: settings.key} if self.key_param and settings.key else None
        service = context.service(
            self.name, settings, headers=headers, params=params, judge=self.judge
        )
        return HostedVerifier(self, service, settings, context.now)

    def judge(self, answer: Response) -> Judgement:
        """Return the problem that *answer* means by the service's own rules."""
        kind = self.statuses.get(answer.status)
        if kind is not None:
            return self._problem(kind, f"{self.name} answers {answer.status}")
        complaint = self.complaint(_fields(answer)) if answer.status == 200 else None
        if complaint is None:
            return ORDINARY
        for pattern, meant in self.complaints.items():
            if re.search(pattern, complaint.lower()):
                kind = meant
                break
        # A log leaves out what is quoted, and it may hold an address.
        why = f"{self.name} says {complaint[:_COMPLAINT]!r}"
        return self._problem(kind or self.complains, why)

    def _problem(self, kind: ProblemKind, why: str) -> ServiceProblem:
        return problem(kind, why, self.pause_s if kind is ProblemKind.RATE_LIMITED else None)


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
        left = self.adapter.left
        return await self.service.check(
            self.adapter.question(self._trial_address),
            None if left is None else lambda answer: left(_fields(answer)),
            needs_key=self.adapter.needs_key,
        )


class _HostedCheck(Generic[T]):
    """One mail domain; that it is a catch-all is learned for its next address."""

    def __init__(self, verifier: HostedVerifier[T], known: DomainFacts) -> None:
        self._verifier = verifier
        self.learned = known

    async def check(self, address: str) -> Evidence:
        """Find out about *address*; nobody is asked where that is of no use."""
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


def _fields(answer: Response) -> Mapping[str, Any]:
    """Return the fields of the JSON object in *answer*; none if it is no object."""
    try:
        return msgspec.json.decode(answer.body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
