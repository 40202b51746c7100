"""The figures of a report a second way: by going through all events for each of them."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import combinations
from typing import Any

from cs.domain.brand.events import (
    AttemptFailed,
    BrandResolved,
    ContactsDiscovered,
    ContactsRanked,
    LookupFinished,
    LookupStarted,
    MailboxNotVerified,
    MailboxVerified,
    MailDomainChecked,
    PeopleFound,
    StageIssued,
)
from cs.domain.key import SearchAdmitted, SearchRepeated, SearchSettled
from cs.eventlog.port import RecordedEvent
from cs.history.report.period import Period

STAGES: Mapping[str, type[Any]] = {
    "brand-resolution": BrandResolved,
    "contact-discovery": ContactsDiscovered,
    "ranking": ContactsRanked,
    "verification": MailDomainChecked,
}


class Naive:
    """Asks *events*, all of a log, opened, about *period*."""

    def __init__(self, events: Sequence[RecordedEvent], period: Period) -> None:
        self._events = events
        self._period = period

    def every(self, kind: type[Any], lookup: str | None = None) -> list[Any]:
        found: Iterable[Any] = (each.event for each in self._events)
        return [
            event
            for event in found
            if isinstance(event, kind) and lookup in {None, getattr(event, "lookup", None)}
        ]

    def inside(self, kind: type[Any]) -> list[Any]:
        return [each for each in self.every(kind) if self.is_in(each.at)]

    def is_in(self, at: datetime) -> bool:
        return not (at < self._period.since or at >= self._period.until)

    # Searches.

    def settled(self) -> list[SearchSettled]:
        return self.inside(SearchSettled)

    def time_to_answer(self) -> list[timedelta]:
        admitted = {each.search: each.at for each in self.every(SearchAdmitted)}
        return [each.at - admitted[each.search] for each in self.settled() if not each.cached]

    def by_stream(self, of: Callable[[str, SearchSettled], str]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for recorded in self._events:
            event = recorded.event
            if isinstance(event, SearchSettled) and self.is_in(event.at):
                row = found.setdefault(of(recorded.stream, event), [0, 0, 0])
                for n, counts in enumerate((True, event.charged, event.cached)):
                    row[n] += counts
        return found

    def ages(self) -> list[timedelta]:
        ends = {each.lookup: each.at for each in self.every(LookupFinished)}
        return [each.at - ends[each.lookup] for each in self.settled() if each.cached]

    def asked(self) -> tuple[int, int]:
        return len(self.inside(SearchAdmitted)), len(self.inside(SearchRepeated))

    # Runs.

    def finished(self) -> list[LookupFinished]:
        return self.inside(LookupFinished)

    def run_took(self) -> list[timedelta]:
        began = {each.lookup: each.at for each in self.every(LookupStarted)}
        return [each.at - began[each.lookup] for each in self.finished()]

    def stage(self, stage: str) -> tuple[list[timedelta], int]:
        """Return how long it took in each run that it ended in, and how often it did not."""
        took, not_ended = [], 0
        for run in self.finished():
            issued = [e for e in self.every(StageIssued, run.lookup) if e.stage == stage]
            closed = self.every(STAGES[stage], run.lookup)
            ended = {getattr(each, "mail_domain", "") for each in closed}
            if not issued:
                continue
            if {each.item for each in issued} <= ended:
                took.append(max(c.at for c in closed) - min(i.at for i in issued))
            else:
                not_ended += 1
        return took, not_ended

    def attempts(self, stage: str) -> tuple[int, int]:
        """Return how many attempts failed, and how many pieces of work came again."""
        failed = [e for e in self.inside(AttemptFailed) if e.stage == stage]
        again = [e for e in self.inside(StageIssued) if e.stage == stage and e.attempt > 1]
        return len(failed), len(again)

    def people(self) -> dict[str, tuple[int, int, int]]:
        """Return found, ranked and verified people of finished runs: by source, and of ''."""
        counts: dict[str, list[int]] = {"": [0, 0, 0]}
        for run in self.finished():
            found = [
                person
                for kind in (PeopleFound, ContactsDiscovered)
                for event in self.every(kind, run.lookup)
                for person in event.people
            ]
            ranked = {
                each.person for e in self.every(ContactsRanked, run.lookup) for each in e.ranked
            }
            verified = {e.checked.person for e in self.every(MailboxVerified, run.lookup)}
            counts[""][0] += len(found)
            counts[""][1] += len(ranked)
            counts[""][2] += len(verified)
            for person in found:
                for source in set(person.sources):
                    row = counts.setdefault(source, [0, 0, 0])
                    row[0] += 1
                    row[1] += person.person in ranked
                    row[2] += person.person in verified
        return {name: (a, b, c) for name, (a, b, c) in counts.items()}

    def sources(self, kind: type[Any]) -> dict[str, Counter[str]]:
        found: dict[str, Counter[str]] = {}
        for run in self.finished():
            for event in self.every(kind, run.lookup):
                for source, ended in event.sources.items():
                    found.setdefault(source, Counter())[ended] += 1
        return found

    def emails_where_used(self, source: str) -> int:
        return sum(
            run.verified
            for run in self.finished()
            for event in self.every(BrandResolved, run.lookup)
            if event.sources.get(source) == "used"
        )

    # Verification.

    def checks(self, *, erased: bool = False) -> list[Any]:
        both = [*self.inside(MailboxVerified), *self.inside(MailboxNotVerified)]
        return [e.checked for e in both if (e.checked.mail_domain == "") == erased]

    def evidence(self) -> list[Any]:
        return [each for checked in self.checks() for each in checked.evidence]

    def disagreements(self) -> tuple[int, Counter[tuple[str, str, str, str]]]:
        several, found = 0, Counter[tuple[str, str, str, str]]()
        for checked in self.checks():
            for address in {each.address for each in checked.evidence}:
                said = {
                    each.verifier: each.verdict.value
                    for each in checked.evidence
                    if each.address == address and each.verdict != "unknown"
                }
                several += len(said) > 1
                for one, other in combinations(sorted(said), 2):
                    if said[one] != said[other]:
                        found[one, said[one], other, said[other]] += 1
        return several, found

    def domains(self) -> dict[str, list[int]]:
        """Return people, verified, checks, catch-all and greylisting of each mail domain."""
        found: dict[str, list[int]] = {}
        for closed in self.inside(MailDomainChecked):
            here = [
                (e.checked, kind is MailboxVerified)
                for kind in (MailboxVerified, MailboxNotVerified)
                for e in self.every(kind, closed.lookup)
                if e.checked.mail_domain == closed.mail_domain
            ]
            catch_all = any(checked.verdict == "catch_all" for checked, _ in here)
            greylists = any(
                each.reason == "greylisted" for checked, _ in here for each in checked.evidence
            )
            put_off = any(
                e.item == closed.mail_domain and e.why == "try-later"
                for e in self.every(AttemptFailed, closed.lookup)
                if e.stage == "verification"
            )
            row = found.setdefault(closed.mail_domain, [0, 0, 0, 0, 0])
            row[0] += len(here)
            row[1] += sum(verified for _, verified in here)
            row[2] += 1
            row[3] += catch_all or closed.learned.catch_all is True
            row[4] += put_off or greylists or closed.learned.greylists is True
        return found


def quantiles(durations: Iterable[timedelta]) -> tuple[int, Any, Any, Any]:
    """Return how many, p50, p95 and the longest, in seconds of three digits."""
    ordered = sorted(each // timedelta(milliseconds=1) for each in durations)
    if not ordered:
        return (0, None, None, None)
    picked = [ordered[max(math.ceil(len(ordered) * q / 100), 1) - 1] for q in (50, 95, 100)]
    p50, p95, longest = (_three_digits(each) for each in picked)
    return (len(ordered), p50, p95, longest)


def _three_digits(milliseconds: int) -> float:
    unit: int = 10 ** max(len(str(milliseconds)) - 3, 0)
    return math.floor(milliseconds / unit + 0.5) * unit / 1000
