"""The fold of a report: events in order of position go in, counts come out.

Pure.  What is in memory is bounded: runs and searches that have not ended, counters by names
(`cs.history.report.counting`), and some small ones.  Events before the period are to be given
as well, as far back as runs may last: nothing of them is counted, but they say when what ends
in the period began.

`cs.history.runs` keeps everything that the log says of a run, people opened; here it is little,
of thousands of runs at once.
"""

from collections.abc import Callable, Mapping
from typing import Any

from cs.domain.brand.events import (
    ContactsDiscovered,
    MailboxNotVerified,
    MailboxVerified,
    PeopleFound,
)
from cs.domain.contact import CheckedPerson
from cs.domain.mail.mailbox import Verdict
from cs.domain.mail.reply_meaning import ReplyKind
from cs.history.report.events import (
    AdmittedSearch,
    BouncedContact,
    DomainChecked,
    FailedAttempt,
    FinishedLookup,
    IssuedAttempt,
    RankedPeople,
    RepeatedSearch,
    ReportedBounce,
    ReportEvent,
    ResolvedLookup,
    SettledSearch,
    StartedLookup,
)
from cs.history.report.mail_counts import MailCounts
from cs.history.report.names import Names
from cs.history.report.open_runs import OpenDomain, OpenRuns
from cs.history.report.period import Period
from cs.history.report.run_counts import RunCounts
from cs.history.report.search_counts import SearchCounts
from cs.history.report.spend_counts import SpendCounts

#: Why an attempt at verification failed that a mail server told to come back later.
TRY_LATER = "try-later"


class ReportFold:
    """Counts what is in *period*; `cs.history.report.figures` says what each count is."""

    def __init__(self, period: Period) -> None:
        names = Names()
        self.period = period
        self.events = 0
        self.searches = SearchCounts(period)
        self.runs = RunCounts(names)
        self.mail = MailCounts(names)
        self.spend = SpendCounts(names)
        self._open = OpenRuns()
        self._apply: Mapping[type[Any], Callable[[str, Any], None]] = {
            AdmittedSearch: self._admitted,
            RepeatedSearch: self._repeated,
            SettledSearch: self._settled,
            StartedLookup: self._started,
            IssuedAttempt: self._issued,
            FailedAttempt: self._failed,
            ResolvedLookup: self._resolved,
            PeopleFound: self._people_found,
            ContactsDiscovered: self._discovered,
            RankedPeople: self._ranked,
            MailboxVerified: self._checked,
            MailboxNotVerified: self._checked,
            DomainChecked: self._domain_checked,
            FinishedLookup: self._finish,
            BouncedContact: self._came_back,
            ReportedBounce: self._bounced,
        }

    def apply(self, stream: str, event: ReportEvent) -> None:
        """Count *event* of *stream*."""
        if event.at in self.period:
            self.events += 1
        self._apply[type(event)](stream, event)

    def _admitted(self, _: str, event: AdmittedSearch) -> None:
        self.searches.admitted(event)

    def _repeated(self, _: str, event: RepeatedSearch) -> None:
        self.searches.repeated += event.at in self.period

    def _settled(self, stream: str, event: SettledSearch) -> None:
        self.searches.settled(stream.removeprefix("key-"), event)

    def _started(self, _: str, event: StartedLookup) -> None:
        self._open.of(event.lookup).started_at = event.at

    def _issued(self, _: str, event: IssuedAttempt) -> None:
        self._open.of(event.lookup).issue(event.stage, event.item, event.at)
        if event.attempt > 1 and event.at in self.period:
            self.runs.stage_issued_again[event.stage] += 1

    def _failed(self, _: str, event: FailedAttempt) -> None:
        if event.at in self.period:
            self.runs.stage_failed[event.stage] += 1
            self.spend.attempt(event.stage, event.costs)
        if event.stage == "verification" and event.why == TRY_LATER:
            self._open.of(event.lookup).domain(event.item).put_off = True

    def _resolved(self, _: str, event: ResolvedLookup) -> None:
        run = self._open.of(event.lookup)
        run.end("brand-resolution", "", event.at)
        run.brand_sources = event.sources
        if event.at in self.period:
            self.spend.attempt("brand-resolution", event.costs)

    def _people_found(self, _: str, event: PeopleFound) -> None:
        self._open.of(event.lookup).see(event.people)

    def _discovered(self, _: str, event: ContactsDiscovered) -> None:
        run = self._open.of(event.lookup)
        run.end("contact-discovery", "", event.at)
        run.people_sources = event.sources
        if event.at in self.period:
            self.spend.attempt("contact-discovery", event.costs)
        run.see(event.people)

    def _ranked(self, _: str, event: RankedPeople) -> None:
        run = self._open.of(event.lookup)
        run.end("ranking", "", event.at)
        run.ranked = tuple(each.person for each in event.ranked)
        run.left_out = tuple(each.why for each in event.left_out)
        if event.at in self.period:
            self.spend.attempt("ranking", event.costs)

    def _checked(self, _: str, event: MailboxVerified | MailboxNotVerified) -> None:
        run, checked = self._open.of(event.lookup), event.checked
        verified = isinstance(event, MailboxVerified)
        if verified:
            run.verified.add(checked.person)
        if checked.mail_domain:  # else they were erased
            domain = run.domain(checked.mail_domain)
            domain.people += 1
            domain.verified += verified
            domain.catch_all |= checked.verdict is Verdict.CATCH_ALL
            domain.put_off |= _greylisted(checked)
        if event.at in self.period:
            self.mail.person(checked)

    def _domain_checked(self, _: str, event: DomainChecked) -> None:
        run = self._open.of(event.lookup)
        run.end("verification", event.mail_domain, event.at)
        if event.at in self.period:
            self.mail.domain(run.domains.get(event.mail_domain, OpenDomain()), event)
            self.spend.attempt("verification", event.costs)

    def _came_back(self, _: str, event: BouncedContact) -> None:
        if event.at in self.period:
            self.mail.came_back(event.verifier, event.reason)

    def _bounced(self, _: str, event: ReportedBounce) -> None:
        if event.at in self.period:
            self.mail.bounces[event.kind] += 1

    def _finish(self, _: str, event: FinishedLookup) -> None:
        self.searches.run_finished(event.lookup, event.at)
        run = self._open.end(event.lookup)
        if event.at in self.period:
            self.runs.finish(run, event)
            self.spend.verified("contact-discovery", event.verified_from)
            self.spend.verified("verification", event.verified_by)


def _greylisted(checked: CheckedPerson) -> bool:
    return any(each.reason == ReplyKind.GREYLISTED for each in checked.evidence)
