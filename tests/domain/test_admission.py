"""Contract O1 to O11: which answer comes first when several are due, and what each one is."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import combinations

import pytest
from msgspec.structs import replace

from cs.domain.admission import Admission, AskSearch, Situation, admit
from cs.domain.brand import brand as brands
from cs.domain.brand.brand import Brand, Finish
from cs.domain.brand.events import LookupStarted, StageIssued, StartLookup
from cs.domain.contact import Query
from cs.domain.key import (
    Idempotency,
    IdempotentSearch,
    Key,
    RunningSearch,
    SearchAdmitted,
    SearchOutcome,
    SearchRepeated,
    SearchSettled,
)
from cs.domain.messages import STANDS_STILL
from cs.domain.refusal import Refusal

AT = datetime(2026, 1, 31, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
STREAM = "brand-0a1b"
NONCE = "k7f2m9qd"
QUERY = Query("Acme")
IDEMPOTENCY = Idempotency("k", "body")
LAST_UNIT = "the last unit of quota"


def finish(
    outcome: SearchOutcome = "done", at: datetime = AT, domain: str = "acme.example"
) -> Finish:
    return Finish(f"{STREAM}.1", outcome, at, int(outcome == "done"), domain)


def running(search: str, query: Query = QUERY) -> RunningSearch:
    return RunningSearch(search, f"{STREAM}.1", query.brand or "", query)


def live_brand() -> Brand:
    start = StartLookup(stream=STREAM, query=QUERY, at=AT)
    return reduce(brands.evolve, brands.decide(start, brands.INITIAL), brands.INITIAL)


@dataclass
class Scene:
    """A caller asks for Acme with a key of three units; everything allows it at first."""

    quota: int = 3
    used: int = 0
    admitted_at: list[datetime] = field(default_factory=list)
    running: list[RunningSearch] = field(default_factory=list)
    remembered: list[IdempotentSearch] = field(default_factory=list)
    brand: Brand = brands.INITIAL
    by_name: Brand | None = None
    paused: bool = False
    ceiling_opens_at: datetime | None = None
    unshown: frozenset[str] = frozenset()
    query: Query = QUERY
    shown: str = "Acme"
    idempotency: Idempotency | None = IDEMPOTENCY
    at: datetime = AT
    last_at: datetime = AT
    secret_hash: str = "h"

    def key(self) -> Key:
        return Key(
            secret_hash="h",
            quota=self.quota,
            used=self.used,
            admitted_at=tuple(self.admitted_at),
            running=tuple(self.running),
            remembered=tuple(self.remembered),
            last_at=self.last_at,
        )

    def admit(self) -> Admission:
        ask = AskSearch(
            at=self.at,
            search="s-new",
            brand=self.shown,
            query=self.query,
            stream=STREAM,
            secret_hash=self.secret_hash,
            nonce=NONCE,
            idempotency=self.idempotency,
        )
        situation = Situation(
            key=self.key(),
            brand=self.brand,
            by_name=self.by_name,
            paused=self.paused,
            ceiling_opens_at=self.ceiling_opens_at,
            unshown=self.unshown,
        )
        return admit(ask, situation)

    def refusal(self) -> Refusal:
        with pytest.raises(Refusal) as refused:
            self.admit()
        return refused.value


# What each step looks like, and what arms it, in the order of contract O1 to O11.


def _same_idempotency_key(scene: Scene) -> None:
    scene.remembered.append(IdempotentSearch(IDEMPOTENCY, "s-old", AT - SECOND))


def _idempotency_key_of_another_body(scene: Scene) -> None:
    scene.remembered.append(IdempotentSearch(Idempotency("k", "other"), "s-old", AT - SECOND))


def _paused(scene: Scene) -> None:
    scene.paused = True


def _quota_used(scene: Scene) -> None:
    scene.used = scene.quota


def _minute_full(scene: Scene) -> None:
    scene.admitted_at = [AT - 30 * SECOND] * 6


def _own_search_runs(scene: Scene) -> None:
    scene.running.append(running("s-own"))


def _failure_reused(scene: Scene) -> None:
    scene.brand = replace(scene.brand, reusable=finish("no_contacts"))


def _capacity_reached(scene: Scene) -> None:
    scene.ceiling_opens_at = AT + timedelta(hours=3)


def _two_in_flight(scene: Scene) -> None:
    scene.running += [running("s-1", Query("One")), running("s-2", Query("Two"))]


def _last_unit_held(scene: Scene) -> None:
    """Hold the last unit by a running search, whatever else is armed."""
    if not scene.running:
        scene.running.append(running("s-1", Query("One")))
    scene.quota = max(scene.used + len(scene.running), 1)
    if scene.used:
        scene.used = scene.quota


Arm = Callable[[Scene], None]
STEPS: list[tuple[str, Arm]] = [
    ("replayed s-old", _same_idempotency_key),
    ("invalid_request", _idempotency_key_of_another_body),
    ("api_disabled", _paused),
    ("quota_exhausted", _quota_used),
    ("rate_limited", _minute_full),
    ("repeated s-own", _own_search_runs),
    ("cached s-new", _failure_reused),
    ("at_capacity", _capacity_reached),
    ("too_many_in_flight", _two_in_flight),
    ("too_many_in_flight, last unit", _last_unit_held),
]
TOGETHER = [
    pair
    for pair in combinations(STEPS, 2)
    if {arm for _, arm in pair} != {_same_idempotency_key, _idempotency_key_of_another_body}
]


def answer_of(scene: Scene) -> str:
    try:
        admission = scene.admit()
    except Refusal as refusal:
        held = ", last unit" if LAST_UNIT in refusal.message else ""
        return refusal.code + held
    return f"{admission.kind} {admission.search}"


@pytest.mark.parametrize(("answer", "arm"), STEPS)
def test_each_step_answers_when_it_alone_is_armed(answer: str, arm: Arm) -> None:
    scene = Scene()
    arm(scene)

    assert answer_of(scene) == answer


@pytest.mark.parametrize(("earlier", "later"), TOGETHER)
def test_of_two_that_are_armed_the_earlier_answers(
    earlier: tuple[str, Arm], later: tuple[str, Arm]
) -> None:
    scene = Scene()
    for _, arm in (earlier, later):
        arm(scene)

    assert answer_of(scene) == earlier[0]


def test_with_nothing_armed_the_search_starts() -> None:
    assert answer_of(Scene()) == "started s-new"


# 3b: idempotency keys.


@pytest.mark.parametrize(
    ("age", "answer"),
    [
        (timedelta(0), "replayed s-old"),
        (timedelta(hours=24) - SECOND, "replayed s-old"),
        (timedelta(hours=24), "started s-new"),
    ],
)
def test_an_idempotency_key_is_remembered_for_a_day(age: timedelta, answer: str) -> None:
    scene = Scene(remembered=[IdempotentSearch(IDEMPOTENCY, "s-old", AT - age)])

    assert answer_of(scene) == answer


def test_a_replayed_search_stores_nothing() -> None:
    scene = Scene()
    _same_idempotency_key(scene)

    admission = scene.admit()

    assert (admission.key_events, admission.brand_events) == ((), ())


def test_an_idempotency_key_used_again_after_a_day_means_its_newest_search() -> None:
    old = IdempotentSearch(Idempotency("k", "other"), "s-old", AT - timedelta(hours=30))
    scene = Scene(remembered=[old, IdempotentSearch(IDEMPOTENCY, "s-newer", AT - SECOND)])

    assert answer_of(scene) == "replayed s-newer"


@pytest.mark.parametrize("brand", [live_brand(), Brand(reusable=finish()), brands.INITIAL])
def test_every_counted_search_remembers_its_idempotency_key(brand: Brand) -> None:
    admission = Scene(brand=brand).admit()

    (admitted, *_) = admission.key_events
    assert isinstance(admitted, SearchAdmitted)
    assert admitted.idempotency == IDEMPOTENCY


def test_a_repeated_search_remembers_its_idempotency_key_too() -> None:
    (event,) = Scene(running=[running("s-own")]).admit().key_events

    assert event == SearchRepeated(search="s-own", idempotency=IDEMPOTENCY, at=AT)


# 4 and 5.


def test_a_paused_service_says_when_to_come_back() -> None:
    assert Scene(paused=True).refusal().retry_after == timedelta(seconds=300)


# 6: windows.


@pytest.mark.parametrize(
    ("seconds", "admitted"), [(0, False), (59.999, False), (60, True), (61, True)]
)
def test_the_seventh_search_waits_until_the_first_is_a_minute_old(
    seconds: float, admitted: bool
) -> None:
    scene = Scene(admitted_at=[AT, *[AT + SECOND] * 5], at=AT + timedelta(seconds=seconds))

    assert (answer_of(scene) == "started s-new") is admitted
    if not admitted:
        refusal = scene.refusal()
        assert refusal.limit == (6, 0)
        assert refusal.retry_after == timedelta(seconds=60 - seconds)


@pytest.mark.parametrize(("seconds", "admitted"), [(86_399, False), (86_400, True)])
def test_the_sixty_first_search_is_refused_until_the_first_is_a_day_old(
    seconds: int, admitted: bool
) -> None:
    spread = [AT + timedelta(minutes=n) for n in range(60)]
    scene = Scene(admitted_at=spread, at=AT + timedelta(seconds=seconds))

    assert (answer_of(scene) == "started s-new") is admitted
    if not admitted:
        refusal = scene.refusal()
        assert (refusal.code, refusal.limit, refusal.retry_after) == (
            "rate_limited",
            (60, 0),
            SECOND,
        )


def test_of_two_full_windows_the_longer_wait_is_reported() -> None:
    spread = [AT - timedelta(hours=23) + timedelta(minutes=n) for n in range(54)]
    scene = Scene(admitted_at=[*spread, *[AT - SECOND] * 6])
    assert scene.refusal().limit == (60, 0)
    assert scene.refusal().retry_after == timedelta(hours=1)

    leaving = [AT - timedelta(hours=24) + 30 * SECOND] * 54
    scene = Scene(admitted_at=[*leaving, *[AT - SECOND] * 6])
    assert scene.refusal().limit == (6, 0)
    assert scene.refusal().retry_after == 59 * SECOND


def test_a_clock_that_steps_back_opens_no_window() -> None:
    late = AT + STANDS_STILL
    scene = Scene(admitted_at=[late] * 6, at=AT, last_at=late)

    refusal = scene.refusal()

    assert (refusal.code, refusal.retry_after) == ("rate_limited", timedelta(seconds=60))


def test_a_clock_that_was_ahead_by_more_than_a_minute_locks_nobody_out() -> None:
    late = AT + STANDS_STILL + timedelta(microseconds=1)
    scene = Scene(admitted_at=[late] * 6, at=AT, last_at=late)

    assert answer_of(scene) == "started s-new"


# 7: the same search again.


@pytest.mark.parametrize(
    ("query", "shown", "answer"),
    [
        (Query("Acme"), "Acme", "repeated s-own"),
        (Query("ACME"), "ACME", "joined s-new"),  # another spelling has its own record
        (Query("Acme", "acme.example"), "Acme", "joined s-new"),
        (Query(None, "acme.example"), "acme.example", "joined s-new"),
    ],
)
def test_only_the_same_input_is_the_same_search(query: Query, shown: str, answer: str) -> None:
    scene = Scene(running=[running("s-own")], brand=live_brand(), query=query, shown=shown)

    assert answer_of(scene) == answer


# 8: what was found before.


def test_a_reused_answer_is_admitted_and_settled_in_one_append() -> None:
    admission = Scene(brand=Brand(reusable=finish())).admit()

    admitted, settled = admission.key_events
    assert isinstance(admitted, SearchAdmitted)
    assert settled == SearchSettled(
        search="s-new",
        lookup=f"{STREAM}.1",
        outcome="done",
        charged=True,
        cached=True,
        at=AT,
    )
    assert admission.brand_events == ()


def test_a_reused_failure_is_free_and_needs_no_unit() -> None:
    scene = Scene(
        quota=1,
        running=[running("s-1", Query("One"))],
        brand=Brand(reusable=finish("no_linkedin")),
    )

    _, settled = scene.admit().key_events

    assert isinstance(settled, SearchSettled)
    assert (settled.outcome, settled.charged, settled.cached) == ("no_linkedin", False, True)


def test_a_reused_answer_does_not_spend_the_unit_a_running_search_holds() -> None:
    scene = Scene(
        quota=1, running=[running("s-1", Query("One"))], brand=Brand(reusable=finish())
    )

    refusal = scene.refusal()

    assert (refusal.code, refusal.retry_after, refusal.limit) == (
        "too_many_in_flight",
        timedelta(seconds=5),
        (2, 0),
    )
    assert LAST_UNIT in refusal.message


def test_what_was_found_thirty_days_ago_is_searched_again() -> None:
    month = timedelta(days=30)

    assert (
        answer_of(Scene(brand=Brand(reusable=finish(at=AT - month + SECOND)))) == "cached s-new"
    )
    assert answer_of(Scene(brand=Brand(reusable=finish(at=AT - month)))) == "started s-new"


def test_what_shows_nobody_any_more_answers_nobody() -> None:
    lost = frozenset({f"{STREAM}.1"})
    scene = Scene(brand=Brand(reusable=finish()), unshown=lost)

    assert Scene(brand=scene.brand).admit().charged_for == f"{STREAM}.1"
    assert answer_of(scene) == "started s-new"
    assert scene.admit().charged_for is None
    _capacity_reached(scene)
    assert scene.refusal().code == "at_capacity"


# C1: the one alias.

BOTH = Query("Delta", "delta.example")


@pytest.mark.parametrize(
    ("found", "answer"),
    [("delta.example", "cached s-new"), ("deltafaucet.example", "started s-new")],
)
def test_a_name_is_reused_for_the_domain_it_matched_and_for_no_other(
    found: str, answer: str
) -> None:
    by_name = Brand(reusable=finish(domain=found))

    assert answer_of(Scene(query=BOTH, shown="Delta", by_name=by_name)) == answer


def test_a_name_that_matched_nothing_answers_for_no_domain() -> None:
    nothing = Finish(f"{STREAM}.1", "no_linkedin", AT, 0, None)

    assert answer_of(Scene(query=BOTH, by_name=Brand(reusable=nothing))) == "started s-new"


def test_of_two_that_answer_the_newest_does() -> None:
    older = Brand(reusable=Finish("brand-both.1", "done", AT - SECOND, 1, "delta.example"))
    newer = Brand(reusable=Finish("brand-name.1", "done", AT, 1, "delta.example"))

    for own, by_name in ((older, newer), (newer, older)):
        admitted, _ = Scene(query=BOTH, brand=own, by_name=by_name).admit().key_events
        assert isinstance(admitted, SearchAdmitted)
        assert admitted.lookup == "brand-name.1"
        lost = frozenset({"brand-name.1"})
        shown = Scene(query=BOTH, brand=own, by_name=by_name, unshown=lost)
        assert shown.admit().charged_for == "brand-both.1"


# 9 to 11: live searches.


def test_a_service_at_capacity_says_when_it_opens_and_joins_still() -> None:
    scene = Scene()
    _capacity_reached(scene)
    assert scene.refusal().retry_after == timedelta(hours=3)

    scene.brand = live_brand()
    assert answer_of(scene) == "joined s-new"


def test_a_started_search_names_its_lookup_which_begins_with_resolution() -> None:
    admission = Scene().admit()

    (admitted,) = admission.key_events
    started, issued = admission.brand_events
    assert isinstance(admitted, SearchAdmitted)
    assert isinstance(started, LookupStarted)
    assert isinstance(issued, StageIssued)
    assert admitted.lookup == started.lookup == issued.lookup == f"{STREAM}.1-{NONCE}"
    assert (admitted.search, admitted.brand, admitted.query) == ("s-new", "Acme", QUERY)
    assert issued.stage == "brand-resolution"


def test_a_joined_search_names_the_lookup_that_runs_and_writes_to_the_key_only() -> None:
    admission = Scene(brand=live_brand()).admit()

    (admitted,) = admission.key_events
    assert isinstance(admitted, SearchAdmitted)
    assert admitted.lookup == f"{STREAM}.1"
    assert admission.brand_events == ()
