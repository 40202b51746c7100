"""The checker finds every kind of violation, and nothing in a sound log."""

from collections.abc import Callable, Container
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from cs.domain.brand.events import LookupFinished, LookupStarted
from cs.domain.codec import AnyEvent
from cs.domain.contact import Query
from cs.domain.key import KeyIssued, KeyLimited, SearchAdmitted, SearchSettled
from cs.eventlog.port import RecordedEvent
from harness.places import VIOLATIONS, audited

T0 = datetime(2026, 1, 1, tzinfo=UTC)
QUERY = Query("Acme")
LOOKUP = "brand-acme.1"

Log = list[RecordedEvent]
Entry = tuple[str, AnyEvent]


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def issued(quota: int = 10) -> Entry:
    return "key-a", KeyIssued(label="", quota=quota, secret_hash="h", last4="4", at=T0)


def admitted(search: str, seconds: float = 1, lookup: str = LOOKUP) -> Entry:
    event = SearchAdmitted(
        search=search, brand="Acme", query=QUERY, lookup=lookup, at=at(seconds)
    )
    return "key-a", event


def started(number: int = 1, seconds: float = 1, stream: str = "brand-acme") -> Entry:
    event = LookupStarted(
        lookup=f"{stream}.{number}",
        number=number,
        query=QUERY,
        deadline_at=at(seconds + 120),
        at=at(seconds),
    )
    return stream, event


def finished(seconds: float = 2, verified: int = 1, lookup: str = LOOKUP) -> Entry:
    event = LookupFinished(
        lookup=lookup,
        outcome="done" if verified else "no_emails",
        reusable=True,
        verified=verified,
        at=at(seconds),
    )
    return lookup.rpartition(".")[0], event


def settled(search: str, seconds: float = 3, *, done: bool = True) -> Entry:
    event = SearchSettled(
        search=search,
        lookup=LOOKUP,
        outcome="done" if done else "no_emails",
        charged=done,
        cached=False,
        at=at(seconds),
    )
    return "key-a", event


def log_of(*entries: Entry) -> Log:
    versions: dict[str, int] = {}
    log = []
    for position, (stream, event) in enumerate(entries, 1):
        versions[stream] = versions.get(stream, -1) + 1
        log.append(RecordedEvent(position, stream, versions[stream], event))
    return log


def sound() -> Log:
    return log_of(
        issued(),
        admitted("s1"),
        started(),
        finished(),
        settled("s1"),
        admitted("s2", 4),
        settled("s2", 4),
    )


def test_a_sound_log_passes() -> None:
    assert audited(sound()) == set()


def test_a_log_in_which_a_search_still_runs_passes() -> None:
    log = log_of(issued(), admitted("s1"), started())

    assert audited(log) == set()


@pytest.mark.parametrize(("per_minute", "per_day", "found"), [(1, 9, "minute"), (6, 1, "day")])
def test_a_key_is_held_to_limits_of_its_own(per_minute: int, per_day: int, found: str) -> None:
    limited = KeyLimited(per_minute=per_minute, per_day=per_day, at=T0)
    entries: list[Entry] = [issued(), ("key-a", limited), started(), finished()]
    two = [e for n in range(2) for e in (admitted(f"s{n}", 4 + n), settled(f"s{n}", 4 + n))]

    assert audited(log_of(*entries, *two)) == {found}


def with_event(number: int, change: Callable[[AnyEvent], AnyEvent]) -> Log:
    log = sound()
    log[number] = replace(log[number], event=change(log[number].event))
    return log


def planted() -> dict[str, tuple[Log, Container[int]]]:
    many = [
        entry for n in range(7) for entry in (admitted(f"m{n}", 4 + n), settled(f"m{n}", 4 + n))
    ]
    day = [
        entry
        for n in range(61)
        for entry in (admitted(f"d{n}", 100 * n + 4), settled(f"d{n}", 100 * n + 4))
    ]
    base = [issued(quota=100), started(), finished()]
    logs = {
        "position": [sound()[0], *sound()[2:]],
        "version": [replace(r, version=r.version + (r.position > 4)) for r in sound()],
        "time": with_event(5, lambda event: replace(event, at=T0 - timedelta(seconds=1))),
        "key": log_of(started(), admitted("s1")),
        "admitted-twice": log_of(issued(), started(), admitted("s1"), admitted("s1", 2)),
        "settled-twice": log_of(
            issued(), started(), admitted("s1"), finished(), settled("s1"), settled("s1")
        ),
        "settled-unknown": log_of(issued(), started(), finished(), settled("s9")),
        "charge": with_event(4, lambda event: replace(event, charged=False)),
        "outcome": log_of(issued(), started(), admitted("s1"), settled("s1")),
        "quota": log_of(
            issued(quota=1),
            started(),
            finished(),
            admitted("s1", 3),
            settled("s1", 3),
            admitted("s2", 4),
            settled("s2", 4),
        ),
        "minute": log_of(*base, *many),
        "day": log_of(*base, *day),
        "in-flight": log_of(
            issued(),
            *(
                entry
                for n in range(3)
                for entry in (
                    started(1, n + 1, f"brand-{n}"),
                    admitted(f"s{n}", n + 1, f"brand-{n}.1"),
                )
            ),
        ),
        "lookup-twice": log_of(started(), started(2)),
        "finished-twice": log_of(started(), finished(), finished()),
        "verified": log_of(started(), ("brand-acme", replace(finished()[1], verified=0))),
        "unsettled": log_of(issued(), started(), admitted("s1"), finished()),
    }
    return {kind: (log, ()) for kind, log in logs.items()} | {"damaged": (sound(), {1})}


@pytest.mark.parametrize("kind", VIOLATIONS)
def test_a_planted_violation_is_found(kind: str) -> None:
    assert kind in audited(*planted()[kind])


def test_of_a_damaged_stream_nothing_but_its_damage_is_reported() -> None:
    for recorded in sound():
        assert audited(sound(), {recorded.position}) == {"damaged"}


def test_an_answer_from_reuse_takes_no_place_in_flight() -> None:
    running = [started(1, 1, "brand-b"), started(1, 1, "brand-c")]
    log = log_of(
        issued(),
        started(),
        finished(),
        *running,
        admitted("b", 2, "brand-b.1"),
        admitted("c", 2, "brand-c.1"),
        admitted("cached", 3),
        settled("cached", 3),
    )

    assert audited(log) == set()
