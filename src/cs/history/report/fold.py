"""The fold of a report: events in order of position go in, figures come out.

Pure.  What is in memory is bounded: runs and searches that have not ended, counters by names
(`cs.history.report.counting`), and some small ones.  Events before the period are to be given
as well, as far back as runs may last: nothing of them is counted, but they say when what ends
in the period began.

`cs.history.runs` keeps everything that the log says of a run, people opened; here it is little,
of thousands of runs at once.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from cs.domain.brand.brand import stream_of
from cs.domain.brand.events import (
    ContactsDiscovered,
    MailboxNotVerified,
    MailboxVerified,
    PeopleFound,
)
from cs.domain.contact import Checked, Person
from cs.domain.mail.mailbox import Evidence, Verdict
from cs.domain.mail.reply_meaning import ReplyKind
from cs.history.report.counting import Busiest, Durations
from cs.history.report.events import (
    Admitted,
    DomainChecked,
    Failed,
    Finished,
    Issued,
    RankedPeople,
    Repeated,
    ReportEvent,
    Resolved,
    Settled,
    Started,
)
from cs.history.report.period import Period, floor
from cs.runtime.lru import LruDict

#: Searches, and runs with all of their people, that have begun and not ended.
OPEN_SEARCHES, OPEN_RUNS = 20_000, 5_000
#: Finished runs whose moment is remembered, as results are reused for weeks.
FINISHES = 100_000
#: Different sources, verifiers and reasons that are told apart.
NAMES = 200
#: What stands for the others.
OTHERS = "(others)"
#: Why an attempt at verification failed that a mail server told to come back later.
TRY_LATER = "try-later"
#: Days at which a band of ages begins.
BANDS = (0, 1, 3, 7, 14, 21, 30)

#: What plug-ins are called, and their reasons: nothing that could be somebody's address.
_WORD = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_DAY = timedelta(days=1)


class PluginAnswer(NamedTuple):
    """A verifier or a source, and what it said or how it ended."""

    who: str
    what: str


@dataclass(slots=True)
class _Domain:
    """People checked at one mail domain, by one run."""

    people: int = 0
    verified: int = 0
    catch_all: bool = False
    put_off: bool = False


@dataclass(slots=True)
class _Run:
    """A run that has not finished."""

    started_at: datetime | None = None
    began_at: dict[str, datetime] = field(default_factory=dict)  # by stage, here and below
    ended_at: dict[str, datetime] = field(default_factory=dict)
    open_items: dict[str, set[str]] = field(default_factory=dict)
    brand_sources: Mapping[str, str] = field(default_factory=dict)
    people_sources: Mapping[str, str] = field(default_factory=dict)
    seen_by: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ranked: tuple[str, ...] = ()
    verified: set[str] = field(default_factory=set)
    domains: dict[str, _Domain] = field(default_factory=dict)

    def domain(self, mail_domain: str) -> _Domain:
        return self.domains.setdefault(mail_domain, _Domain())

    def issue(self, stage: str, item: str, at: datetime) -> None:
        self.began_at.setdefault(stage, at)
        self.open_items.setdefault(stage, set()).add(item)

    def end(self, stage: str, item: str, at: datetime) -> None:
        self.ended_at[stage] = at
        self.open_items.get(stage, set()).discard(item)


class Names:
    """Tells up to `NAMES` names apart; the others are one."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def known(self, name: str) -> str:
        if name in self._known:
            return name
        if len(self._known) < NAMES and _WORD.fullmatch(name):
            self._known.add(name)
            return name
        return OTHERS


class ReportFold:
    """Counts what is in *period*; `cs.history.report.figures` says what each count is."""

    def __init__(self, period: Period) -> None:
        self.period = period
        self.step = period.step
        self.events = 0
        # Searches.
        self.asked = self.repeated = self.answered = self.charged = self.reused = 0
        self.searches_not_timed = 0
        self.search_outcomes = Counter[str]()
        self.time_to_answer = Durations()
        self.by_bucket: dict[datetime, Counter[str]] = {}
        self.reused_by_bucket = Counter[datetime]()
        self.keys, self.brands, self.mail_domains = Busiest(), Busiest(), Busiest()
        # Runs.
        self.finished = self.cut_off = self.runs_not_timed = 0
        self.people_found = self.people_ranked = self.people_verified = 0
        self.emails = self.with_email = 0
        self.run_outcomes = Counter[str]()
        self.run_took = Durations()
        self.stage_took = defaultdict[str, Durations](Durations)
        self.stage_not_ended, self.stage_failed = Counter[str](), Counter[str]()
        self.stage_issued_again = Counter[str]()
        # Sources and verifiers.
        self.brand_sources, self.people_sources = (
            Counter[PluginAnswer](),
            Counter[PluginAnswer](),
        )
        self.brand_source_emails = Counter[str]()
        self.seen, self.seen_ranked = Counter[str](), Counter[str]()
        self.seen_verified = Counter[str]()
        self.verifiers, self.verified_by = Counter[PluginAnswer](), Counter[str]()
        self.unanswered = Counter[str]()
        # Verification.
        self.people_checked = self.people_erased = self.asked_of_several = 0
        self.verdicts = Counter[str]()
        self.reasons = Counter[PluginAnswer]()
        self.disagreements = Counter[tuple[PluginAnswer, PluginAnswer]]()
        self.domains_checked = self.domains_catch_all = self.domains_put_off = 0
        # Freshness.
        self.ages = Durations()
        self.age_bands = Counter[int]()
        self.age_not_known = 0
        #: Reused results whose age is to be told with `tell_age`: (lookup, when).
        self.ages_wanted: list[tuple[str, datetime]] = []

        self._names = Names()
        self._admitted_at = LruDict[str, datetime](OPEN_SEARCHES)
        self._runs = LruDict[str, _Run](OPEN_RUNS)
        self._finished_at = LruDict[str, datetime](FINISHES)
        self._apply: Mapping[type[Any], Callable[[str, Any], None]] = {
            Admitted: self._admitted,
            Repeated: self._repeated,
            Settled: self._settled,
            Started: self._started,
            Issued: self._issued,
            Failed: self._failed,
            Resolved: self._resolved,
            PeopleFound: self._people_found,
            ContactsDiscovered: self._discovered,
            RankedPeople: self._ranked,
            MailboxVerified: self._checked,
            MailboxNotVerified: self._checked,
            DomainChecked: self._domain_checked,
            Finished: self._finish,
        }

    def apply(self, stream: str, event: ReportEvent) -> None:
        """Count *event* of *stream*."""
        if event.at in self.period:
            self.events += 1
        self._apply[type(event)](stream, event)

    def tell_age(self, finished_at: datetime | None, reused_at: datetime) -> None:
        """Count a result that was reused, ``None`` if its run's finish cannot be read."""
        if finished_at is None:
            self.age_not_known += 1
            return
        age = reused_at - finished_at
        self.ages.add(age)
        self.age_bands[max(band for band in BANDS if band <= max(age // _DAY, 0))] += 1

    # Searches.

    def _admitted(self, _: str, event: Admitted) -> None:
        self._admitted_at[event.search] = event.at
        self.asked += event.at in self.period

    def _repeated(self, _: str, event: Repeated) -> None:
        self.repeated += event.at in self.period

    def _settled(self, stream: str, event: Settled) -> None:
        admitted_at = self._admitted_at.pop(event.search, None)
        if event.at not in self.period:
            return
        self.answered += 1
        self.charged += event.charged
        self.reused += event.cached
        self.search_outcomes[event.outcome] += 1
        bucket = floor(event.at, self.step)
        self.by_bucket.setdefault(bucket, Counter())[event.outcome] += 1
        self.reused_by_bucket[bucket] += event.cached
        counts = (1, int(event.charged), int(event.cached))
        self.keys.add(stream.removeprefix("key-"), *counts)
        self.brands.add(stream_of(event.lookup), *counts)
        if event.cached:
            self._reused(event.lookup, event.at)
        elif admitted_at is None:
            self.searches_not_timed += 1
        else:
            self.time_to_answer.add(event.at - admitted_at)

    def _reused(self, lookup: str, at: datetime) -> None:
        finished_at = self._finished_at.use(lookup)
        if finished_at is None:
            self.ages_wanted.append((lookup, at))
        else:
            self.tell_age(finished_at, at)

    # Runs.

    def _run(self, lookup: str) -> _Run:
        run = self._runs.use(lookup)
        if run is None:
            run = self._runs[lookup] = _Run()
        return run

    def _started(self, _: str, event: Started) -> None:
        self._run(event.lookup).started_at = event.at

    def _issued(self, _: str, event: Issued) -> None:
        self._run(event.lookup).issue(event.stage, event.item, event.at)
        if event.attempt > 1 and event.at in self.period:
            self.stage_issued_again[event.stage] += 1

    def _failed(self, _: str, event: Failed) -> None:
        self.stage_failed[event.stage] += event.at in self.period
        if event.stage == "verification" and event.why == TRY_LATER:
            self._run(event.lookup).domain(event.item).put_off = True

    def _resolved(self, _: str, event: Resolved) -> None:
        run = self._run(event.lookup)
        run.end("brand-resolution", "", event.at)
        run.brand_sources = event.sources

    def _people_found(self, _: str, event: PeopleFound) -> None:
        self._note_people(self._run(event.lookup), event.people)

    def _discovered(self, _: str, event: ContactsDiscovered) -> None:
        run = self._run(event.lookup)
        run.end("contact-discovery", "", event.at)
        run.people_sources = event.sources
        self._note_people(run, event.people)

    def _note_people(self, run: _Run, people: Iterable[Person]) -> None:
        for person in people:
            run.seen_by[person.person] = tuple(dict.fromkeys(person.sources))

    def _ranked(self, _: str, event: RankedPeople) -> None:
        run = self._run(event.lookup)
        run.end("ranking", "", event.at)
        run.ranked = tuple(each.person for each in event.ranked)

    def _finish(self, _: str, event: Finished) -> None:
        self._finished_at[event.lookup] = event.at
        run = self._runs.pop(event.lookup, None) or _Run()
        if event.at not in self.period:
            return
        self.finished += 1
        self.cut_off += event.cut_off
        self.run_outcomes[event.outcome] += 1
        self.emails += event.verified
        self.with_email += event.verified > 0
        if run.started_at is None:
            self.runs_not_timed += 1
        else:
            self.run_took.add(event.at - run.started_at)
            self._time_stages(run)
        self._count_people(run)
        self._count_sources(run, event.verified)

    def _time_stages(self, run: _Run) -> None:
        for stage, began_at in run.began_at.items():
            if run.open_items[stage]:
                self.stage_not_ended[stage] += 1
            else:
                self.stage_took[stage].add(run.ended_at[stage] - began_at)

    def _count_people(self, run: _Run) -> None:
        self.people_found += len(run.seen_by)
        self.people_ranked += len(run.ranked)
        self.people_verified += len(run.verified)
        for person, sources in run.seen_by.items():
            for source in sources:
                name = self._names.known(source)
                self.seen[name] += 1
                self.seen_ranked[name] += person in run.ranked
                self.seen_verified[name] += person in run.verified

    def _count_sources(self, run: _Run, verified: int) -> None:
        known = self._names.known
        for source, ended in run.brand_sources.items():
            self.brand_sources[PluginAnswer(known(source), known(ended))] += 1
            if ended == "used":
                self.brand_source_emails[known(source)] += verified
        for source, ended in run.people_sources.items():
            self.people_sources[PluginAnswer(known(source), known(ended))] += 1

    # Verification.

    def _checked(self, _: str, event: MailboxVerified | MailboxNotVerified) -> None:
        run, checked = self._run(event.lookup), event.checked
        verified = isinstance(event, MailboxVerified)
        if verified:
            run.verified.add(checked.person)
        greylisted = _greylisted(checked)
        if checked.mail_domain:  # else they were erased
            domain = run.domain(checked.mail_domain)
            domain.people += 1
            domain.verified += verified
            domain.catch_all |= checked.verdict is Verdict.CATCH_ALL
            domain.put_off |= greylisted
        if event.at in self.period:
            self._count_checked(checked)

    def _count_checked(self, checked: Checked) -> None:
        self.people_checked += 1
        if not checked.mail_domain:
            self.people_erased += 1
            return
        self.verdicts[checked.verdict.value] += 1
        if checked.verifier is not None:
            self.verified_by[self._names.known(checked.verifier)] += 1
        by_address: dict[str, list[Evidence]] = {}
        for evidence in checked.evidence:
            by_address.setdefault(evidence.address, []).append(evidence)
            verifier, verdict = self._names.known(evidence.verifier), evidence.verdict.value
            self.verifiers[PluginAnswer(verifier, verdict)] += 1
            self.reasons[PluginAnswer(self._names.known(evidence.reason), verdict)] += 1
            self.unanswered[verifier] += not evidence.answered
        for several in by_address.values():
            self._count_disagreements(several)

    def _count_disagreements(self, evidence: Iterable[Evidence]) -> None:
        said = {
            self._names.known(each.verifier): each.verdict.value
            for each in evidence
            if each.verdict is not Verdict.UNKNOWN
        }
        if len(said) < 2:
            return
        self.asked_of_several += 1
        opinions = sorted(PluginAnswer(*each) for each in said.items())
        for n, one in enumerate(opinions):
            for other in opinions[n + 1 :]:
                if one.what != other.what:
                    self.disagreements[one, other] += 1

    def _domain_checked(self, _: str, event: DomainChecked) -> None:
        run = self._run(event.lookup)
        run.end("verification", event.mail_domain, event.at)
        if event.at not in self.period:
            return
        domain = run.domains.get(event.mail_domain, _Domain())
        catch_all = domain.catch_all or bool(event.learned.catch_all)
        put_off = domain.put_off or bool(event.learned.greylists)
        self.domains_checked += 1
        self.domains_catch_all += catch_all
        self.domains_put_off += put_off
        self.mail_domains.add(
            event.mail_domain, domain.people, domain.verified, 1, catch_all, put_off
        )


def _greylisted(checked: Checked) -> bool:
    return any(each.reason == ReplyKind.GREYLISTED for each in checked.evidence)
