"""Contract O1 to O11: which answer comes first when several are due, and what each one is."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import combinations
from typing import Any

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


MONTH = timedelta(days=30)
BOTH = Query("Delta", "delta.example")


def remembered(age: timedelta, body: str = "body", search: str = "s-old") -> IdempotentSearch:
    return IdempotentSearch(Idempotency("k", body), search, AT - age)


def reusing(outcome: SearchOutcome = "done", **found: Any) -> Brand:
    return Brand(reusable=finish(outcome, **found))


#: A brand of which nothing was found: it answers for no domain.
NOTHING = Brand(reusable=Finish(f"{STREAM}.1", "no_linkedin", AT, 0, None))
LATE = AT + STANDS_STILL
SCENES: list[tuple[str, Scene]] = [
    # 3b: an idempotency key is remembered for a day; then it means its newest search.
    ("replayed s-old", Scene(remembered=[remembered(timedelta(0))])),
    ("replayed s-old", Scene(remembered=[remembered(timedelta(hours=24) - SECOND)])),
    ("started s-new", Scene(remembered=[remembered(timedelta(hours=24))])),
    (
        "replayed s-newer",
        Scene(
            remembered=[
                remembered(timedelta(hours=30), "other"),
                remembered(SECOND, search="s-newer"),
            ]
        ),
    ),
    # 6: a clock that was ahead by more than a minute locks no key out.
    (
        "started s-new",
        Scene(admitted_at=[LATE + timedelta(microseconds=1)] * 6, last_at=LATE + SECOND),
    ),
    # 7: only the same input is the same search; another spelling has its own record.
    *(
        (
            answer,
            Scene(running=[running("s-own")], brand=live_brand(), query=query, shown=shown),
        )
        for query, shown, answer in (
            (Query("Acme"), "Acme", "repeated s-own"),
            (Query("ACME"), "ACME", "joined s-new"),
            (Query("Acme", "acme.example"), "Acme", "joined s-new"),
            (Query(None, "acme.example"), "acme.example", "joined s-new"),
        )
    ),
    # 8: what was found is reused for thirty days, unless its people can no longer be shown.
    ("cached s-new", Scene(brand=reusing(at=AT - MONTH + SECOND))),
    ("started s-new", Scene(brand=reusing(at=AT - MONTH))),
    ("started s-new", Scene(brand=reusing(), unshown=frozenset({f"{STREAM}.1"}))),
    # C1: a name is reused for the domain that it matched, and for no other.
    ("cached s-new", Scene(query=BOTH, by_name=reusing(domain="delta.example"))),
    ("started s-new", Scene(query=BOTH, by_name=reusing(domain="deltafaucet.example"))),
    ("started s-new", Scene(query=BOTH, by_name=NOTHING)),
    # 9: a live search is joined, also when the service is at capacity.
    ("joined s-new", Scene(brand=live_brand(), ceiling_opens_at=AT + timedelta(hours=3))),
]


@pytest.mark.parametrize(("answer", "scene"), SCENES)
def test_a_scene_has_this_answer(answer: str, scene: Scene) -> None:
    assert answer_of(scene) == answer


SPREAD = [AT + timedelta(minutes=n) for n in range(60)]
A_MINUTE = [AT, *[AT + SECOND] * 5]
YESTERDAY = [AT - timedelta(hours=23) + timedelta(minutes=n) for n in range(54)]
#: Scene, code, limit, and seconds to wait.
REFUSED: list[tuple[Scene, str, tuple[int, int] | None, float]] = [
    (Scene(paused=True), "api_disabled", None, 300),
    # The seventh search waits until the first is a minute old, the 61st until it is a day old.
    (Scene(admitted_at=A_MINUTE), "rate_limited", (6, 0), 60),
    (
        Scene(admitted_at=A_MINUTE, at=AT + timedelta(seconds=59.999)),
        "rate_limited",
        (6, 0),
        0.001,
    ),
    (
        Scene(admitted_at=SPREAD, at=AT + timedelta(seconds=86_399)),
        "rate_limited",
        (60, 0),
        1,
    ),
    # Of two full windows the longer wait counts.
    (Scene(admitted_at=[*YESTERDAY, *[AT - SECOND] * 6]), "rate_limited", (60, 0), 3_600),
    (
        Scene(admitted_at=[*[AT - timedelta(days=1) + 30 * SECOND] * 54, *[AT - SECOND] * 6]),
        "rate_limited",
        (6, 0),
        59,
    ),
    # A clock that steps back opens no window.
    (Scene(admitted_at=[LATE] * 6, last_at=LATE), "rate_limited", (6, 0), 60),
    (Scene(ceiling_opens_at=AT + timedelta(hours=3)), "at_capacity", None, 10_800),
    # A reused answer that is charged does not spend the unit that a running search holds.
    (
        Scene(quota=1, running=[running("s-1", Query("One"))], brand=reusing()),
        "too_many_in_flight",
        (2, 0),
        5,
    ),
]


@pytest.mark.parametrize(("scene", "code", "limit", "wait_s"), REFUSED)
def test_a_refusal_names_its_limit_and_the_time_to_wait(
    scene: Scene, code: str, limit: tuple[int, int] | None, wait_s: float
) -> None:
    refusal = scene.refusal()

    assert (refusal.code, refusal.limit) == (code, limit)
    assert refusal.retry_after == timedelta(seconds=wait_s)
    if code == "rate_limited":
        scene.at = max(scene.at, scene.last_at) + refusal.retry_after
        assert answer_of(scene) == "started s-new"


def test_a_replayed_search_stores_nothing() -> None:
    admission = Scene(remembered=[remembered(SECOND)]).admit()

    assert (admission.key_events, admission.brand_events) == ((), ())


@pytest.mark.parametrize("brand", [live_brand(), reusing(), brands.INITIAL])
def test_every_counted_search_remembers_its_idempotency_key(brand: Brand) -> None:
    (admitted, *_) = Scene(brand=brand).admit().key_events
    (repeated,) = Scene(brand=brand, running=[running("s-own")]).admit().key_events

    assert isinstance(admitted, SearchAdmitted)
    assert admitted.idempotency == IDEMPOTENCY
    assert repeated == SearchRepeated(search="s-own", idempotency=IDEMPOTENCY, at=AT)


@pytest.mark.parametrize(("outcome", "charged"), [("done", True), ("no_linkedin", False)])
def test_a_reused_answer_is_admitted_and_settled_in_one_append(
    outcome: SearchOutcome, *, charged: bool
) -> None:
    """A failure is free, so that it needs no unit."""
    held = [] if charged else [running("s-1", Query("One"))]
    admission = Scene(quota=1, running=held, brand=reusing(outcome)).admit()

    admitted, settled = admission.key_events
    assert isinstance(admitted, SearchAdmitted)
    assert settled == SearchSettled(
        search="s-new",
        lookup=f"{STREAM}.1",
        outcome=outcome,
        charged=charged,
        cached=True,
        at=AT,
    )
    assert admission.brand_events == ()
    assert admission.charged_for == (f"{STREAM}.1" if charged else None)


def test_of_two_that_answer_the_newest_does() -> None:
    older = Brand(reusable=Finish("brand-both.1", "done", AT - SECOND, 1, "delta.example"))
    newer = Brand(reusable=Finish("brand-name.1", "done", AT, 1, "delta.example"))

    for own, by_name in ((older, newer), (newer, older)):
        scene = Scene(query=BOTH, brand=own, by_name=by_name)
        assert scene.admit().charged_for == "brand-name.1"
        scene.unshown = frozenset({"brand-name.1"})
        assert scene.admit().charged_for == "brand-both.1"


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
