"""What all verifiers have in common that ask a service about one address a call.

An adapter gives the question, the shape of the answer and a pure function from the answer to
a `ServiceVerdict`.  Everything else is here and in `cs.paid_calls.service`: a known catch-all
and what is no mailbox cost nothing, and whatever comes instead of an answer leaves the
address `UNKNOWN`, with the kind of the problem as its reason.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from math import ceil
from typing import Annotated, Generic, TypeVar

import msgspec
from msgspec import Meta

from cs.domain.mail.mailbox import RESTRICTED
from cs.plugins.declared_settings import PluginFactory
from cs.plugins.verifiers import (
    ORDINARY,
    DomainCheck,
    DomainFacts,
    Evidence,
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
    takes,
)

T = TypeVar("T")
S = TypeVar("S")

#: Asked about by `check` where a service names no address of its own for trials.
#: example.com takes no mail (null MX), so nobody is bothered and the answer is known.
TRIAL_ADDRESS = "nobody@example.com"
#: Units of `Verifier.cost` in a dollar; what a call costs decides the order of asking.
_COST_UNITS = 10_000
#: Characters of a service's own word that are told.
_WORD = 60
_MEANT = {ProblemKind.RESTRICTED: RESTRICTED}


class HostedSettings(ServiceSettings, frozen=True, kw_only=True):
    """What each of them takes besides `ServiceSettings`."""

    trial_address: Annotated[str, Meta(description="asked about by cs verifiers check")] = (
        TRIAL_ADDRESS
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


class Adapter(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """One service: how it is asked and what it answers.

    Attributes:
        name: Of the verifier.
        question: About an address.
        answer: The shape of what it answers.
        read: What an answer means.
        judge: The problem that an answer means by the service's own rules; ``None`` leaves it
            to the common ones.
        left: What an answer says is left of credits, if anything.
        charged: How many calls an answer costs, where some are free.
        needs_key: Whether nobody is asked without a key.
    """

    name: str
    question: Callable[[str], Question]
    answer: type[T]
    read: Callable[[T], ServiceVerdict]
    judge: Callable[[Response], ServiceProblem | None] = lambda _: None
    left: Callable[[Response], str | None] | None = None
    charged: Callable[[T], int] | None = None
    needs_key: bool = True


class HostedVerifier(Generic[T]):
    """Asks a service; see the module.

    Args:
        adapter: Which, and how.
        service: Makes the calls.
        settings: Of the service.
        now: The time, for evidence.
    """

    def __init__(
        self,
        adapter: Adapter[T],
        service: PaidService,
        settings: HostedSettings,
        now: Callable[[], datetime],
    ) -> None:
        self._adapter = adapter
        self._service = service
        self._settings = settings
        self._now = now

    @property
    def name(self) -> str:
        return self._adapter.name

    @property
    def cost(self) -> int:
        """At least 1: our own verifier, which shows what servers said, comes first."""
        return max(1, ceil(self._settings.usd_per_call * _COST_UNITS))

    @property
    def usd_per_call(self) -> float:
        return self._settings.usd_per_call

    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator[DomainCheck]:
        del mail_domain
        yield HostedCheck(self._adapter, self._service, self._now, known)

    async def check(self) -> ServiceCheck:
        """Ask once about the trial address, and say whether the service works."""
        asked = self._adapter.question(self._settings.trial_address)
        adapter = self._adapter
        return await self._service.check(asked, adapter.left, needs_key=adapter.needs_key)


class HostedCheck(Generic[T]):
    """One mail domain; that it is a catch-all is learned for its next address."""

    def __init__(
        self,
        adapter: Adapter[T],
        service: PaidService,
        now: Callable[[], datetime],
        known: DomainFacts,
    ) -> None:
        self._adapter = adapter
        self._service = service
        self._now = now
        self.learned = known

    async def check(self, address: str) -> Evidence:
        """Find out about *address*; nobody is asked where that is of no use."""
        if not is_mailbox(address):
            return self._evidence(address, ServiceVerdict(Verdict.UNDELIVERABLE, "bad-address"))
        if self.learned.catch_all:
            return self._evidence(address, ServiceVerdict(Verdict.CATCH_ALL, "catch-all"))
        try:
            answer = await self._service.ask(
                self._adapter.question(address),
                self._adapter.answer,
                charged=self._adapter.charged,
            )
        except ServiceProblem as wrong:
            return self._not_told(address, wrong)
        said = self._adapter.read(answer)
        if said.catch_all is not None:
            self.learned = msgspec.structs.replace(self.learned, catch_all=said.catch_all)
        return self._evidence(address, said)

    def _not_told(self, address: str, wrong: ServiceProblem) -> Evidence:
        reason = _MEANT.get(wrong.kind, wrong.kind.value)
        said = ServiceVerdict(Verdict.UNKNOWN, reason, told=(f"[{wrong.why}]",))
        # A worker that dies, a used-up cap, a refused key: nothing that passes by waiting.
        wait_s = wrong.retry_in_s if wrong.kind in _WORTH_A_WAIT else None
        heard = wrong.kind in _HEARD
        return self._evidence(address, said, retry_in_s=wait_s, answered=heard)

    def _evidence(
        self,
        address: str,
        said: ServiceVerdict,
        *,
        retry_in_s: float | None = None,
        answered: bool = True,
    ) -> Evidence:
        return Evidence(
            address=address,
            verdict=said.verdict,
            reason=said.reason,
            verifier=self._adapter.name,
            at=self._now(),
            conversation=tuple(
                Line(at_ms=0, who="C" if text.startswith("[") else "S", text=text)
                for text in said.told
            ),
            retry_in_s=retry_in_s,
            answered=answered,
        )


#: Problems after which the stage asks again, in an attempt of its own: no worker waits.
_WORTH_A_WAIT = frozenset({ProblemKind.PENDING, ProblemKind.RATE_LIMITED})
#: Problems that are an answer about the address.
_HEARD = frozenset({ProblemKind.PENDING, ProblemKind.RESTRICTED, ProblemKind.NOTHING})


def hosted(
    adapter: Adapter[T],
    context: VerifierContext,
    settings: HostedSettings,
    *,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
) -> HostedVerifier[T] | None:
    """Return the verifier of *adapter*; ``None`` where there is no HTTP client or no URL."""
    if context.fetcher is None or not settings.url:
        return None
    service = context.service(
        adapter.name,
        settings,
        headers=headers,
        params=params,
        judge=lambda answer: adapter.judge(answer) or ORDINARY,
    )
    return HostedVerifier(adapter, service, settings, context.now)


def with_key(
    adapter: Adapter[T],
    settings: type[HostedSettings],
    *,
    header: str | None = None,
    param: str | None = None,
) -> PluginFactory[VerifierContext, HostedVerifier[T] | None]:
    """Return what makes a verifier that there is only with a key.

    Args:
        adapter: Of the service.
        settings: What the verifier takes.
        header: The header that the key stands in.
        param: Or the parameter of the query.
    """

    @takes(settings)
    def from_context(context: VerifierContext) -> HostedVerifier[T] | None:
        chosen = msgspec.convert(context.settings, settings)
        if not chosen.key:
            return None
        headers = {header: chosen.key} if header else None
        params = {param: chosen.key} if param else None
        return hosted(adapter, context, chosen, headers=headers, params=params)

    return from_context


def decoded(answer: Response, shape: type[S]) -> S | None:
    """Return what the body of *answer* says as *shape*; ``None`` if it says nothing so."""
    try:
        return msgspec.json.decode(answer.body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def word(text: str) -> str:
    """Return what a service calls something, as part of a reason."""
    return "-".join(text.lower()[:_WORD].replace("_", "-").split())


def refused(name: str, kind: ProblemKind, said: str) -> ServiceProblem:
    """Return the problem of a service that says *said* instead of an answer.

    What it says is quoted: a log leaves out what is quoted, and it may hold an address.
    """
    return problem(kind, f"{name} says {said[:200]!r}")
