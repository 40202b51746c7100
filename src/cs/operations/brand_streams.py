"""Finding people in the streams of brands, and taking them out of results."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import reduce
from typing import TypeVar

from cs.domain.brand import brand
from cs.domain.brand.brand import stream_of
from cs.domain.brand.events import (
    BrandEvent,
    ContactBounced,
    ContactsErased,
    EraseContacts,
    LookupFinished,
    LookupStarted,
)
from cs.domain.causation import AnyCause
from cs.domain.codec import AnyEvent, to_plain
from cs.domain.contact import Contact
from cs.eventlog.port import NO_STREAM, Append, DamagedEvent, RecordedEvent, Where
from cs.eventlog.sealing import personal_values
from cs.eventlog.streams import Streams
from cs.projections.searches import key_of, later_result_key, result_key
from cs.runtime.clock import Clock

E = TypeVar("E", bound=AnyEvent)


async def change_by_events(
    streams: Streams,
    stream: str,
    decide: Callable[[Sequence[RecordedEvent]], Sequence[E]],
    caused_by: AnyCause,
    *,
    dry_run: bool = False,
) -> Sequence[E]:
    """Append the events that *decide* returns for all events of *stream*; return them.

    Raises:
        DamagedEvent: Some of *stream* cannot be read, or makes no sense.
        LogUnavailable: The append may or may not have been stored.
    """

    async def attempt() -> Sequence[E]:
        recorded = await streams.log.read(stream)
        events = decide(recorded)
        if events and not dry_run:
            version = recorded[-1].version if recorded else NO_STREAM
            await streams.log.append([Append(stream, version, events, caused_by)])
        return events

    async with streams.lock(stream):
        return await streams.retry_on_conflict(attempt)


async def leave_out(
    streams: Streams,
    stream: str,
    people: Mapping[str, tuple[str, ...]],
    caused_by: AnyCause,
    *,
    clock: Clock,
    aged_out: bool = False,
) -> list[str]:
    """Take *people*, by lookup, out of the results in *stream*; return keys of older results.

    Raises:
        DamagedEvent: Some of *stream* cannot be read, or makes no sense.
    """

    def decide(recorded: Sequence[RecordedEvent]) -> Sequence[BrandEvent]:
        events: list[BrandEvent] = []
        state = folded(recorded)
        started = {e.event.lookup for e in recorded if isinstance(e.event, LookupStarted)}
        for lookup in sorted(started & people.keys()):
            results = results_of(recorded, lookup)
            command = EraseContacts(
                lookup=lookup,
                people=people[lookup],
                contacts=contacts_in(results[-1]) if results else (),
                aged_out=aged_out,
                at=clock.now(),
            )
            new = brand.decide(command, state)
            state = reduce(brand.evolve, new, state)
            events += new
        return events

    await change_by_events(streams, stream, decide, caused_by)
    recorded = await streams.log.read(stream)
    return _keys(result for lookup in people for result in results_of(recorded, lookup)[:-1])


async def people_of(streams: Streams, lookup: str) -> tuple[tuple[str, ...], Sequence[str]]:
    """Return all people of *lookup*, also erased ones, and the keys of its results.

    Raises:
        DamagedEvent: Some of its stream cannot be read.
    """
    recorded = await streams.log.read(stream_of(lookup))
    found: set[str] = set()
    for plain in (to_plain(each.event) for each in recorded):
        if plain.get("lookup") == lookup:
            found.update(value["person"] for value in personal_values(plain))
    return tuple(sorted(found)), _keys(results_of(recorded, lookup))


async def possible_result_keys(
    streams: Streams, stream: str, lookups: Collection[str]
) -> frozenset[str]:
    """Return every possible name of the data key of a result of *lookups*.

    For a *stream* with events that cannot be read: each of them may hold a result.

    Raises:
        LogUnavailable: The log is away.
    """
    where = Where(streams=frozenset({stream}))
    stored = await streams.log.select(where, 0, await streams.log.head())
    versions = range(max((each.version for each in stored), default=0) + 1)
    later = {later_result_key(lookup, version) for lookup in lookups for version in versions}
    return frozenset(map(result_key, lookups)) | later


def _keys(results: Iterable[RecordedEvent]) -> list[str]:
    return [key for each in results if (key := key_of(each)) is not None]


def lookups_of(names: Iterable[str]) -> frozenset[str]:
    """Return the lookups of the data keys *names*, each ``<lookup>#<person>``."""
    return frozenset(name.rpartition("#")[0] for name in names)


def by_stream(names: Iterable[str]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the people of the data keys *names*, by brand stream and lookup."""
    streams: dict[str, dict[str, tuple[str, ...]]] = {}
    for name in sorted(names):
        lookup, _, ref = name.rpartition("#")
        lookups = streams.setdefault(stream_of(lookup), {})
        lookups[lookup] = (*lookups.get(lookup, ()), ref)
    return streams


def folded(recorded: Iterable[RecordedEvent]) -> brand.Brand:
    """Return the state of a brand after *recorded*, its whole stream.

    Raises:
        DamagedEvent: One of them can be read, but does not belong there.
    """
    state = brand.INITIAL
    for each in recorded:
        try:
            assert isinstance(each.event, BrandEvent), "a brand's stream"
            state = brand.evolve(state, each.event)
        except Exception as error:
            name = type(error).__name__
            why = f"event {each.position}, {each.stream} version {each.version}: {name}"
            raise DamagedEvent(each.position, each.stream, each.version, why) from error
    return state


def results_of(recorded: Iterable[RecordedEvent], lookup: str) -> list[RecordedEvent]:
    """Return the events that hold the result of *lookup*, oldest first; none while it runs."""
    results: list[RecordedEvent] = []
    for each in recorded:
        match each.event:
            case LookupFinished(lookup=of) if of == lookup:
                results.append(each)
            case ContactsErased(lookup=of) | ContactBounced(lookup=of) if (
                of == lookup and results
            ):
                results.append(each)
            case _:
                pass
    return results


def contacts_in(result: RecordedEvent) -> tuple[Contact, ...]:
    """Return the contacts that *result*, one of `results_of`, holds."""
    assert isinstance(result.event, LookupFinished | ContactsErased | ContactBounced)
    return result.event.contacts
