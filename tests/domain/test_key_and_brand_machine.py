"""Whatever happens in whatever order: what must hold of keys and brands together.

The machine drives the decisions as the API and the process manager do.  What it checks
them against is its own bookkeeping over the events stored, which shares no code with
the folds that decide.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import TypeVar

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cs.domain import key as keys
from cs.domain.admission import Admission, AskSearch, Situation, admit
from cs.domain.brand import brand as brands
from cs.domain.brand.events import (
    BrandCommand,
    BrandEvent,
    BrandForgotten,
    ContactsDiscovered,
    ForgetBrand,
    LookupEvent,
    LookupFinished,
    LookupStarted,
    PassDeadline,
    PeopleFound,
    RecordFinding,
    ReissueSilent,
    Restart,
    RetryDue,
    StageIssued,
)
from cs.domain.codec import AnyEvent, from_plain, to_plain, topic_of
from cs.domain.contact import Query
from cs.domain.key import (
    GrantQuota,
    Idempotency,
    IssueKey,
    KeyEvent,
    SearchAdmitted,
    SearchRepeated,
    SearchSettled,
    SettleSearch,
)
from cs.domain.mail.mailbox import Verdict
from cs.domain.refusal import Refusal
from cs.domain.stages.work import (
    Alive,
    AnyFinding,
    Discovered,
    DomainVerified,
    Failed,
    MailboxChecked,
    PeopleSeen,
    RankingDone,
    Resolved,
)
from cs.eventlog.port import RecordedEvent
from cs.history.ledger import ledger
from cs.history.runs import Run, runs
from domain.acme_run import ADA, AT_TWO_DOMAINS, BEN, HOME, PARENT, AcmeRun, checked, ranked

E = TypeVar("E", bound=AnyEvent)

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)
KEYS = ("key-a", "key-b", "key-c")
QUERIES = {f"brand-{name.lower()}": Query(name) for name in ("Acme", "Zenith")}

keys_of_callers = st.sampled_from(KEYS)
brand_streams = st.sampled_from(sorted(QUERIES))
verdicts = st.sampled_from(Verdict)
mostly_yes = st.sampled_from([Verdict.DELIVERABLE, Verdict.UNDELIVERABLE, *Verdict])
rarely = st.sampled_from([*[False] * 9, True])
people = st.sampled_from(["p1", "p2"])
checks = st.builds(
    checked, people, verdicts, at=st.sampled_from([HOME, PARENT]), answered=st.booleans()
)
findings: st.SearchStrategy[AnyFinding] = st.one_of(
    st.just(Resolved(status="matched", brand=AT_TWO_DOMAINS)),
    st.just(Resolved(status="no_match")),
    st.just(PeopleSeen((ADA,))),
    st.builds(
        Discovered,
        people=st.sampled_from([(), (ADA, BEN), (BEN,)]),
        conclusive=st.booleans(),
    ),
    st.builds(RankingDone, st.lists(people.map(ranked), max_size=2, unique_by=str).map(tuple)),
    st.builds(MailboxChecked, checks),
    st.builds(DomainVerified, st.lists(checks, max_size=3).map(tuple)),
    st.builds(
        Failed,
        why=st.sampled_from(["timeout", "bug"]),
        retryable=st.booleans(),
        retry_in_s=st.sampled_from([None, 0.0, 5.0, 1e12]),
    ),
    st.just(Alive()),
)
steps = st.sampled_from(
    [
        timedelta(0),
        timedelta(seconds=1),
        timedelta(seconds=30),
        *[timedelta(seconds=61)] * 3,
        *[timedelta(hours=7)] * 2,
        timedelta(days=16),
        timedelta(seconds=-5),
        timedelta(hours=-1),
    ]
)


class Searches(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = NEW_YEAR
        self.key_events: dict[str, list[KeyEvent]] = {key: [] for key in KEYS}
        self.brand_events: dict[str, list[BrandEvent]] = {brand: [] for brand in QUERIES}
        self.keys = dict.fromkeys(KEYS, keys.INITIAL)
        self.brands = dict.fromkeys(QUERIES, brands.INITIAL)
        # Folded of the events as they are read once stored.
        self.stored_keys, self.stored_brands = dict(self.keys), dict(self.brands)
        self.asked = 0

    @initialize(quotas=st.tuples(*(st.sampled_from([200, 200, 7, 2, 2, 1, 0]) for _ in KEYS)))
    def issue_keys(self, quotas: tuple[int, ...]) -> None:
        for stream, quota in zip(KEYS, quotas, strict=True):
            issue = IssueKey(
                label=stream, quota=quota, secret_hash=stream, last4="", at=self.now
            )
            self._to_key(stream, keys.decide(issue, keys.INITIAL))

    @initialize(known=st.booleans())
    def a_brand_is_known(self, *, known: bool) -> None:
        """As if it was searched on a key of long ago."""
        if known:
            run = AcmeRun(stream=min(QUERIES)).verifying()
            run.verified(checked("p1", Verdict.DELIVERABLE))
            self._to_brand(run.stream, run.events)

    # What happens.

    @rule(step=steps)
    def time_passes(self, step: timedelta) -> None:
        self.now += step

    @rule(stream=keys_of_callers, units=st.integers(-3, 5))
    def quota_changes(self, stream: str, units: int) -> None:
        try:
            events = keys.decide(GrantQuota(units=units, at=self.now), self.keys[stream])
        except Refusal:
            assert units < 0, "more quota is never refused"
            return
        self._to_key(stream, events)

    @rule(
        stream=keys_of_callers,
        brand=brand_streams,
        loud=st.booleans(),
        times=st.sampled_from([1, 1, 1, 2, 7]),
        paused=rarely,
        full=rarely,
        idempotency=st.sampled_from(
            [*[None] * 6, Idempotency("k", "b"), Idempotency("k", "c")]
        ),
    )
    def somebody_asks(
        self,
        stream: str,
        brand: str,
        *,
        loud: bool,
        times: int,
        paused: bool,
        full: bool,
        idempotency: Idempotency | None,
    ) -> None:
        for _ in range(times):
            self._ask(
                stream, brand, loud=loud, paused=paused, full=full, idempotency=idempotency
            )

    def _ask(
        self,
        stream: str,
        brand: str,
        *,
        loud: bool,
        paused: bool,
        full: bool,
        idempotency: Idempotency | None,
    ) -> None:
        self.asked += 1
        query = QUERIES[brand]
        shown = (query.brand or "").upper() if loud else query.brand or ""
        ask = AskSearch(
            at=self.now,
            search=f"s{self.asked}",
            brand=shown,
            query=Query(shown),
            stream=brand,
            secret_hash=self.keys[stream].secret_hash or "",
            nonce="",
            idempotency=idempotency,
        )
        situation = Situation(
            key=self.keys[stream],
            brand=self.brands[brand],
            paused=paused,
            ceiling_opens_at=self.now + DAY if full else None,
        )
        try:
            admission = admit(ask, situation)
        except Refusal as refusal:
            self._refusal_has_its_reason(refusal, stream, brand, paused=paused, full=full)
            return
        assert not paused or admission.kind == "replayed"
        assert not full or admission.kind != "started"
        self._answer_has_its_reason(admission, stream, brand)
        self._to_key(stream, admission.key_events)
        self._to_brand(brand, admission.brand_events)

    @rule(
        brand=brand_streams,
        back=st.integers(0, 1),
        attempt=st.integers(1, 3),
        finding=findings,
        twice=st.booleans(),
    )
    def a_stage_answers(
        self, brand: str, back: int, attempt: int, finding: AnyFinding, *, twice: bool
    ) -> None:
        """Any finding, for the live run's open work or an earlier one's."""
        state = self.brands[brand]
        live = state.live
        work = live.open[-1] if live is not None and live.open else None
        command = RecordFinding(
            lookup=f"{brand}.{max(1, state.lookups - back)}",
            stage=work.stage if work else "ranking",
            item=work.item if work else "",
            attempt=work.attempt if work and attempt < 3 else attempt,
            finding=finding,
            verifiers=frozenset({"smtp"}),
            at=self.now,
        )
        self._tell(brand, command, quiet_again=twice)

    @precondition(lambda self: any(b.live for b in self.brands.values()))
    @rule(data=st.data())
    def the_expected_answer_comes(self, data: st.DataObject) -> None:
        """The answer that brings a run on, so that runs come to every end."""
        live = [b.live.id for b in self.brands.values() if b.live]
        self._tell_result(data.draw(st.sampled_from(live)), data)

    def _tell_result(self, lookup: str, data: st.DataObject) -> None:
        brand = lookup.rpartition(".")[0]
        live = self.brands[brand].live
        assert live is not None
        work = data.draw(st.sampled_from(live.open))
        result: dict[str, AnyFinding] = {
            "brand-resolution": Resolved(status="matched", brand=AT_TWO_DOMAINS),
            "contact-discovery": Discovered(people=(ADA, BEN)),
            "ranking": RankingDone((ranked("p1"), ranked("p2"))),
            "verification": DomainVerified(
                tuple(checked(p, data.draw(mostly_yes), at=work.item) for p in ("p1", "p2"))
            ),
        }
        command = RecordFinding(
            lookup=live.id,
            stage=work.stage,
            item=work.item,
            attempt=work.attempt,
            finding=result[work.stage],
            verifiers=frozenset({"smtp"}),
            at=self.now,
        )
        assert self._tell(brand, command), "a result is never without effect"

    @precondition(lambda self: any(b.live for b in self.brands.values()))
    @rule(data=st.data())
    def a_run_comes_to_its_end(self, data: st.DataObject) -> None:
        """So that there is something to reuse, and to settle; settling may come later."""
        live = [b.live.id for b in self.brands.values() if b.live]
        lookup = data.draw(st.sampled_from(live))
        while self._finish_of(lookup) is None:
            self._tell_result(lookup, data)
        if data.draw(st.booleans()):
            for stream in KEYS:
                self.the_process_manager_settles(stream)

    @rule(brand=brand_streams, late=st.sampled_from([timedelta(0), timedelta(seconds=150)]))
    def timers_fire(self, brand: str, late: timedelta) -> None:
        lookup = f"{brand}.{self.brands[brand].lookups}"
        at = self.now + late
        self._tell(brand, PassDeadline(lookup=lookup, at=at))
        self._tell(brand, RetryDue(lookup=lookup, at=at))

    @rule(brand=brand_streams, restarted=st.booleans())
    def nothing_is_heard(self, brand: str, *, restarted: bool) -> None:
        live = self.brands[brand].live
        for work in live.open if live else ():
            assert live is not None
            silent = ReissueSilent(
                lookup=live.id,
                stage=work.stage,
                item=work.item,
                attempt=work.attempt,
                at=self.now,
            )
            self._tell(brand, silent)
        if live and restarted:
            self._tell(brand, Restart(lookup=live.id, at=self.now), quiet_again=False)

    @rule(brand=brand_streams)
    def the_operator_forgets(self, brand: str) -> None:
        self._tell(brand, ForgetBrand(at=self.now))

    @rule(stream=keys_of_callers)
    def the_process_manager_settles(self, stream: str) -> None:
        """Every search of a key whose lookup has ended, settled before or not."""
        for admitted in self._admitted(stream):
            finished = self._finish_of(admitted.lookup)
            if finished is None:
                continue
            command = SettleSearch(
                search=admitted.search,
                lookup=admitted.lookup,
                outcome=finished.outcome,
                verified=finished.verified,
                at=self.now,
            )
            self._to_key(stream, keys.decide(command, self.keys[stream]))
            assert keys.decide(command, self.keys[stream]) == (), "settled twice"

    def teardown(self) -> None:
        """Once deadlines pass and settlements are made, no search and no place is left."""
        for brand, state in self.brands.items():
            if state.live is not None:
                at = state.live.deadline_at
                self._tell(brand, PassDeadline(lookup=state.live.id, at=at))
            assert self.brands[brand].live is None
        for stream in KEYS:
            self.the_process_manager_settles(stream)
            assert self.keys[stream].reserved == 0
            settled = [e.search for e in self._settled(stream)]
            assert sorted(settled) == sorted(e.search for e in self._admitted(stream))
        self._history_says_the_same()

    def _history_says_the_same(self) -> None:
        """Compare ledgers and records of runs with what was decided."""
        for stream, state in self.keys.items():
            stored = (RecordedEvent(0, stream, 0, e) for e in self.key_events[stream])
            for last in [*ledger(stored)][-1:]:
                assert (last.quota, last.used) == (state.quota, state.used)
        for brand, events in self.brand_events.items():
            found = runs(RecordedEvent(n + 1, brand, n, e) for n, e in enumerate(events))
            started = [e.lookup for e in events if isinstance(e, LookupStarted)]
            assert [run.lookup for run in found] == started
            for run in found:
                own = (e for e in events if isinstance(e, LookupEvent))
                record_agrees(run, [e for e in own if e.lookup == run.lookup])

    # What must hold.

    @invariant()
    def quota_is_never_overspent(self) -> None:
        for stream, state in self.keys.items():
            used = sum(event.charged for event in self._settled(stream))
            held = len(self._admitted(stream)) - len(self._settled(stream))
            assert (state.used, state.reserved) == (used, held)
            assert 0 <= used <= used + held <= state.quota
            assert held <= 2

    @invariant()
    def windows_are_never_exceeded(self) -> None:
        for stream in KEYS:
            stored = [event.at for event in self.key_events[stream]]
            assert stored == sorted(stored)
            times = sorted(self._counted(stream))
            for few, span in ((6, MINUTE), (60, DAY)):
                assert all(b - a >= span for a, b in zip(times, times[few:], strict=False))

    @invariant()
    def every_search_is_settled_once_and_charged_exactly_when_done(self) -> None:
        for stream in KEYS:
            settled = self._settled(stream)
            assert len({e.search for e in settled}) == len(settled)
            assert {e.search for e in settled} <= {e.search for e in self._admitted(stream)}
            for event in settled:
                finished = self._finish_of(event.lookup)
                assert finished is not None
                mailboxes = sum(contact.email is not None for contact in finished.contacts)
                assert finished.verified == mailboxes
                assert (event.outcome == "done") is event.charged is (mailboxes > 0)
                assert event.outcome == finished.outcome

    @invariant()
    def a_brand_has_one_live_run_and_a_finished_one_stays_finished(self) -> None:
        for brand, events in self.brand_events.items():
            live: str | None = None
            for event in events:
                match event:
                    case LookupStarted(lookup=lookup):
                        assert live is None
                        live = lookup
                    case LookupFinished(lookup=lookup):
                        assert live == lookup
                        live = None
                    case BrandForgotten():
                        pass
                    case _:
                        assert event.lookup == live
            state = self.brands[brand].live
            assert (state.id if state else None) == live

    @invariant()
    def work_is_never_issued_past_its_run_s_deadline_twice_or_for_ever(self) -> None:
        for events in self.brand_events.values():
            issued = [event for event in events if isinstance(event, StageIssued)]
            places = [(e.lookup, e.stage, e.item, e.attempt) for e in issued]
            assert len(set(places)) == len(places)
            for lookup in {e.lookup for e in issued}:
                silent = [e for e in issued if e.lookup == lookup and e.after_silence]
                works = {(e.stage, e.item) for e in silent}
                assert all(
                    sum((e.stage, e.item) == work for e in silent) <= 2 for work in works
                )

    @invariant()
    def only_answers_that_were_established_are_reused(self) -> None:
        for brand, events in self.brand_events.items():
            reused = self.brands[brand].reusable
            if reused is not None:
                assert reused.outcome in {"done", "no_linkedin", "no_contacts", "no_emails"}
            for event in events:
                if isinstance(event, LookupFinished) and event.outcome in {
                    "timeout",
                    "scrape_error",
                    "error",
                }:
                    assert not event.reusable

    # The model.

    def _admitted(self, stream: str) -> list[SearchAdmitted]:
        return [e for e in self.key_events[stream] if isinstance(e, SearchAdmitted)]

    def _settled(self, stream: str) -> list[SearchSettled]:
        return [e for e in self.key_events[stream] if isinstance(e, SearchSettled)]

    def _counted(self, stream: str) -> list[datetime]:
        """Return when this key's searches counted in its windows, by the clock.

        One from a clock that was ahead by more than a minute counts until the next search.
        """
        times: list[datetime] = []
        for event in self.key_events[stream]:
            if isinstance(event, SearchAdmitted | SearchRepeated):
                if event.clock is not msgspec.UNSET:
                    times = [time for time in times if time <= event.clock + MINUTE]
                times.append(event.by_clock)
        return times

    def _finish_of(self, lookup: str) -> LookupFinished | None:
        events = self.brand_events[lookup.rpartition(".")[0]]
        finished = (e for e in events if isinstance(e, LookupFinished) and e.lookup == lookup)
        return next(finished, None)

    def _reason_now(self, stream: str) -> dict[str, bool]:
        """Return which obstacles of its own a key has now."""
        last_at = max([self.now, *(e.at for e in self.key_events[stream])])
        at = self.now if last_at > self.now + MINUTE else last_at
        times = [time for time in self._counted(stream) if time <= at + MINUTE]
        used = sum(e.charged for e in self._settled(stream))
        held = len(self._admitted(stream)) - len(self._settled(stream))
        quota = self.keys[stream].quota
        minute = sum(at - time < MINUTE for time in times)
        return {
            "quota_exhausted": used >= quota,
            "rate_limited": minute >= 6 or sum(at - time < DAY for time in times) >= 60,
            "too_many_in_flight": held >= 2 or used + held >= quota,
        }

    def _refusal_has_its_reason(
        self, refusal: Refusal, stream: str, brand: str, *, paused: bool, full: bool
    ) -> None:
        reasons = self._reason_now(stream) | {
            "api_disabled": paused,
            "at_capacity": full and self.brands[brand].live is None,
            "invalid_request": True,  # the idempotency keys have their examples
        }
        assert reasons[refusal.code], refusal.code

    def _answer_has_its_reason(self, admission: Admission, stream: str, brand: str) -> None:
        reasons = self._reason_now(stream)
        if admission.kind == "replayed":
            return
        assert not reasons["quota_exhausted"]
        assert not reasons["rate_limited"]
        if admission.kind in {"started", "joined"}:
            assert not reasons["too_many_in_flight"]
            assert (self.brands[brand].live is None) is (admission.kind == "started")

    # How it is stored.

    def _tell(
        self, brand: str, command: BrandCommand, *, quiet_again: bool = True
    ) -> Sequence[BrandEvent]:
        events = brands.decide(command, self.brands[brand])
        self._to_brand(brand, events)
        if quiet_again:
            assert brands.decide(command, self.brands[brand]) == (), "the same command twice"
        return events

    def _to_brand(self, brand: str, events: Sequence[BrandEvent]) -> None:
        self.brand_events[brand] += events
        self.brands[brand] = reduce(brands.evolve, events, self.brands[brand])
        stored = reduce(brands.evolve, map(_stored, events), self.stored_brands[brand])
        assert stored == self.brands[brand]
        self.stored_brands[brand] = stored

    def _to_key(self, stream: str, events: Sequence[KeyEvent]) -> None:
        self.key_events[stream] += events
        self.keys[stream] = reduce(keys.evolve, events, self.keys[stream])
        stored = reduce(keys.evolve, map(_stored, events), self.stored_keys[stream])
        assert stored == self.keys[stream]
        self.stored_keys[stream] = stored


def record_agrees(run: Run, events: Sequence[LookupEvent]) -> None:
    """Assert that *run* says what its *events* do."""
    issued = [(e.stage, e.item, e.attempt) for e in events if isinstance(e, StageIssued)]
    assert [(a.stage, a.item, a.attempt) for a in run.attempts] == issued
    seen = [e.people for e in events if isinstance(e, PeopleFound | ContactsDiscovered)]
    assert [p.person for p in run.people] == [p.person for some in seen for p in some]
    [finished] = [e for e in events if isinstance(e, LookupFinished)]
    assert (run.finished_at, run.contacts) == (finished.at, finished.contacts)


def _stored(event: E) -> E:
    """Return *event* as it reads once stored."""
    data = msgspec.json.encode(to_plain(event))
    read = from_plain(topic_of(event), msgspec.json.decode(data))
    assert isinstance(read, type(event))
    return read


TestSearches = Searches.TestCase
TestSearches.settings = settings(
    max_examples=settings().max_examples * 3 // 5, stateful_step_count=60, deadline=None
)
