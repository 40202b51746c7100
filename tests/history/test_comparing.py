"""Two runs side by side, held against looking at what was made up for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from cs.domain.brand.events import BrandEvent, LookupStarted
from cs.domain.mail.mailbox import Verdict
from cs.domain.stages.work import Discovered, DomainVerified, RankingDone, Resolved
from cs.eventlog.port import RecordedEvent
from cs.history.comparing import PersonChange, compared, one_after_another, shown
from cs.history.runs import Run, runs
from domain.acme_run import ACME, HOME, AcmeRun, checked, ranked, sighting

NAMES = ("Ada Kern", "Ben Ode", "Cid Fell", "Dee Roe")


@dataclass(frozen=True)
class Shown:
    """How a run shows somebody: in which role, and at which mailbox, if there is one."""

    family: str
    mailbox: str | None


#: A run: whom it shows.  One that shows nobody ends without contacts.
RUNS = st.dictionaries(
    st.sampled_from(NAMES),
    st.builds(
        Shown,
        family=st.sampled_from(["influencer", "social"]),
        mailbox=st.sampled_from([None, "a", "b"]),
    ),
    max_size=4,
)


def recorded(histories: Sequence[Mapping[str, Shown]]) -> list[Run]:
    """Return the runs, as the domain itself makes them of what stages find."""
    acme = AcmeRun()
    for number, people in enumerate(histories):
        if number:
            acme.start()
        _live(acme, people)
    events: Sequence[BrandEvent] = acme.events
    return runs(
        RecordedEvent(position, acme.stream, position - 1, event)
        for position, event in enumerate(events, 1)
    )


def _live(acme: AcmeRun, found: Mapping[str, Shown]) -> None:
    lookup = acme.live.id
    acme.record("brand-resolution", Resolved(status="matched", brand=ACME), lookup=lookup)
    people = tuple(sighting(name, f"{found[name].family} manager") for name in found)
    acme.record("contact-discovery", Discovered(people=people), lookup=lookup)
    if not found:
        return
    by_rank = sorted(
        (ranked(f"p{n}", one.family) for n, one in enumerate(found.values(), 1)),
        key=lambda each: each.family,
    )
    acme.record("ranking", RankingDone(tuple(by_rank)), lookup=lookup)
    checks = tuple(
        checked(f"p{n}", Verdict.DELIVERABLE, local=f"{one.mailbox}{name[0]}")
        if one.mailbox
        else checked(f"p{n}", Verdict.UNDELIVERABLE)
        for n, (name, one) in enumerate(found.items(), 1)
    )
    acme.record("verification", DomainVerified(checks), item=HOME, lookup=lookup)


def who_is_who(found: Sequence[Run]) -> dict[str, str]:
    return {
        f"{run.lookup}#{person.person}": person.found.full_name
        for run in found
        for person in run.people
    }


@given(st.lists(RUNS, min_size=2, max_size=4))
async def test_who_joined_left_and_changed_is_who_it_is_by_hand(
    histories: list[dict[str, Shown]],
) -> None:
    found = recorded(histories)
    who = who_is_who(found)

    told = [
        compared(before, after, who, reveals=True) for before, after in one_after_another(found)
    ]

    assert len(told) == len(histories) - 1
    for n, (changes, same) in enumerate(told):
        was, now = histories[n], histories[n + 1]
        assert by_change(changes, "joined") == set(now) - set(was)
        assert by_change(changes, "left") == set(was) - set(now)
        both = set(was) & set(now)
        assert by_change(changes, "changed") == {p for p in both if was[p] != now[p]}
        assert same == sum(was[person] == now[person] for person in both)
        for change in changes:
            if change.change == "changed":
                person = str(change.who)
                expected = {"family": was[person].family != now[person].family}
                expected["address"] = was[person].mailbox != now[person].mailbox
                assert set(change.changed) == {name for name, said in expected.items() if said}


def by_change(changes: Sequence[PersonChange], change: str) -> set[str | None]:
    return {each.who for each in changes if each.change == change}


@given(st.lists(RUNS, min_size=2, max_size=2))
async def test_nobody_is_named_who_is_not_revealed(histories: list[dict[str, Shown]]) -> None:
    before, after = recorded(histories)

    changes, same = compared(before, after, {}, reveals=False)

    assert not any(name in str(changes) for name in NAMES)
    assert HOME not in str(changes)
    shown_, same_ = compared(before, after, {}, reveals=True)
    assert same == same_
    assert [(each.change, each.changed) for each in changes] == [
        (each.change, each.changed) for each in shown_
    ]


def test_runs_that_broke_down_are_passed_over() -> None:
    acme = AcmeRun()
    ada = {"Ada Kern": Shown("social", "a")}
    _live(acme, ada)
    acme.start()
    acme.times_out()
    acme.start()
    _live(acme, ada)
    found = runs(
        RecordedEvent(position, acme.stream, position - 1, event)
        for position, event in enumerate(acme.events, 1)
    )

    assert sum(isinstance(event, LookupStarted) for event in acme.events) == 3
    assert [(a.number, b.number) for a, b in one_after_another(found)] == [(1, 3)]
    assert [each["place"] for each in shown(found[0])] == [1]


def test_who_nobody_can_tell_is_nobody_else() -> None:
    before, after = recorded([{"Ada Kern": Shown("social", "a")}] * 2)

    changes, _ = compared(before, after, {}, reveals=True)

    assert [(each.change, each.who) for each in changes] == [("joined", None), ("left", None)]
