"""Counts of runs, their stages, and what each source gave them."""

from collections import Counter, defaultdict

from cs.history.report.counting import Durations
from cs.history.report.events import FinishedLookup
from cs.history.report.names import Names, PluginAnswer
from cs.history.report.open_runs import OpenRun


class RunCounts:
    """What is counted of runs, when they finish.

    Attributes:
        stage_took: By stage, as all counts that begin with ``stage_``.
        brand_source_emails: Verified addresses of the runs that each source resolved.
        left_out: People who were not ranked, by why.
        seen: People that each source gave; so `seen_ranked` and `seen_verified`.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self.finished = self.cut_off = self.not_timed = 0
        self.people_found = self.people_ranked = self.people_verified = 0
        self.left_out = Counter[str]()
        self.emails = self.with_email = 0
        self.outcomes = Counter[str]()
        self.took = Durations()
        self.stage_took = defaultdict[str, Durations](Durations)
        self.stage_not_ended, self.stage_failed = Counter[str](), Counter[str]()
        self.stage_issued_again = Counter[str]()
        self.brand_sources = Counter[PluginAnswer]()
        self.people_sources = Counter[PluginAnswer]()
        self.brand_source_emails = Counter[str]()
        self.seen, self.seen_ranked = Counter[str](), Counter[str]()
        self.seen_verified = Counter[str]()

    def finish(self, run: OpenRun, event: FinishedLookup) -> None:
        """Count *run*, which *event* ends."""
        self.finished += 1
        self.cut_off += event.cut_off
        self.outcomes[event.outcome] += 1
        self.emails += event.verified
        self.with_email += event.verified > 0
        if run.started_at is None:
            self.not_timed += 1
        else:
            self.took.add(event.at - run.started_at)
            self._time_stages(run)
        self._count_people(run)
        self._count_sources(run, event.verified)

    def _time_stages(self, run: OpenRun) -> None:
        for stage, began_at in run.began_at.items():
            if run.open_items[stage]:
                self.stage_not_ended[stage] += 1
            else:
                self.stage_took[stage].add(run.ended_at[stage] - began_at)

    def _count_people(self, run: OpenRun) -> None:
        self.people_found += len(run.seen_by)
        self.people_ranked += len(run.ranked)
        self.left_out.update(map(self._names.known, run.left_out))
        self.people_verified += len(run.verified)
        for person, sources in run.seen_by.items():
            for source in sources:
                name = self._names.known(source)
                self.seen[name] += 1
                self.seen_ranked[name] += person in run.ranked
                self.seen_verified[name] += person in run.verified

    def _count_sources(self, run: OpenRun, verified: int) -> None:
        known = self._names.known
        for source, ended in run.brand_sources.items():
            self.brand_sources[PluginAnswer(known(source), known(ended))] += 1
            if ended == "used":
                self.brand_source_emails[known(source)] += verified
        for source, ended in run.people_sources.items():
            self.people_sources[PluginAnswer(known(source), known(ended))] += 1
