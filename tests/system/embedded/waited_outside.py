"""How long a service in this process waited for the outside: put around its tools."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from cs.assembly.plugins import StagePlugins
from cs.domain.mail.mailbox import DomainFacts, Evidence


@dataclass
class Outside:
    """Adds up the time during which at least one outside call was under way."""

    inside: int = 0
    since: float = 0.0
    total: float = 0.0

    def enter(self) -> None:
        if self.inside == 0:
            self.since = time.perf_counter()
        self.inside += 1

    def leave(self) -> None:
        self.inside -= 1
        if self.inside == 0:
            self.total += time.perf_counter() - self.since


@dataclass
class TimedSource:
    source: Any
    outside: Outside
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = self.source.name

    async def find(self, *arguments: Any, **named: Any) -> Any:
        self.outside.enter()
        try:
            return await self.source.find(*arguments, **named)
        finally:
            self.outside.leave()


@dataclass
class TimedCheck:
    check_: Any
    outside: Outside

    @property
    def learned(self) -> DomainFacts:
        learned: DomainFacts = self.check_.learned
        return learned

    async def check(self, address: str) -> Evidence:
        self.outside.enter()
        try:
            evidence: Evidence = await self.check_.check(address)
            return evidence
        finally:
            self.outside.leave()


@dataclass
class TimedVerifier:
    verifier: Any
    outside: Outside
    name: str = "smtp"
    cost: int = 0

    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator[TimedCheck]:
        async with self.verifier.open(mail_domain, known) as check:
            yield TimedCheck(check, self.outside)


def timed(tools: StagePlugins, outside: Outside) -> StagePlugins:
    """Return *tools* with every call of theirs counted in *outside*."""
    return StagePlugins(
        [TimedSource(source, outside) for source in tools.brand_sources],
        [TimedSource(source, outside) for source in tools.people_sources],
        [TimedVerifier(verifier, outside) for verifier in tools.verifiers],
    )
