"""Everything that is held on one person: what lookups stored, and whom it was answered to."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from cs.domain.brand.brand import stream_of
from cs.domain.codec import from_plain
from cs.domain.contact import Contact, Query
from cs.domain.key import KeyIssued, SearchAdmitted, SearchSettled
from cs.eventlog.errors import DamagedEvent, NewerEvent
from cs.eventlog.port import EventLog, RecordedEvent
from cs.history.history import History, Progress, unseen
from cs.history.runs import Run, RunPerson, runs
from cs.history.selection import Selection


class AnsweredSearch(msgspec.Struct, frozen=True, kw_only=True):
    """A search whose answer a person is in.

    Attributes:
        key: The id of the API key that it was made with.
        key_label: Whom that key was issued to; ``None``: its stream cannot be read.
        at: When it was answered.
        brand: As the caller wrote it; ``None``: the event that says so cannot be read.
        reused: Whether it was answered from an earlier run.
    """

    search: str
    key: str
    key_label: str | None
    at: datetime
    brand: str | None
    outcome: str
    charged: bool
    reused: bool


class PersonRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What one lookup stored about a person.

    Attributes:
        lookup: Its id.
        query: What it was asked for.
        brand: The name of the brand that was matched.
        sources: Of people, that were asked; ``person.found.sources`` are those that named them.
        person: All that was found out, with every conversation with a mail server.
        contact: What searches of this lookup are answered with; ``None``: not with them.
        answered: Those searches, in order.
        outcome: Of the lookup; ``None``: it runs.
        last_returned_at: When a search was last answered by this lookup.
        kept_until: When the service forgets it, if no search returns it again; ``None``: its
            lookup runs, or nobody asked.
    """

    lookup: str
    query: Query
    brand: str | None
    sources: dict[str, str]
    person: RunPerson
    contact: Contact | None
    answered: tuple[AnsweredSearch, ...]
    outcome: str | None
    last_returned_at: datetime | None
    kept_until: datetime | None = None

    @property
    def name(self) -> str:
        """Return what exports call it, ``<lookup>#p1``."""
        return f"{self.lookup}#{self.person.person}"

    def forgotten_at(self, kept_for: timedelta) -> datetime | None:
        """Return when the record is forgotten if no search returns it; ``None``: it runs.

        Args:
            kept_for: As `cs.operations.retention` has it: counted from that day on.
        """
        if self.last_returned_at is None:
            return None
        day = self.last_returned_at.replace(hour=0, minute=0, second=0, microsecond=0)
        return day + timedelta(days=1) + kept_for


class HeldOnPerson(msgspec.Struct, frozen=True, kw_only=True):
    """What lookups stored about one person.

    Attributes:
        records: In order of position.
        unread: Lookups of which something cannot be read; what they hold is not here.
    """

    records: tuple[PersonRecord, ...]
    unread: tuple[str, ...] = ()


async def held_on(
    log: EventLog, names: Sequence[str], progress: Progress = unseen
) -> HeldOnPerson:
    """Return what *log* holds on the person of the records *names*, ``<lookup>#p1``.

    People are opened: note it before (`Operator.disclose`).

    Raises:
        LogUnavailable: The log cannot be read now.
        DamagedEvent, msgspec.MsgspecError: What searches were answered cannot be read.
    """
    history = History(log)
    lookups = {name.rpartition("#")[0] for name in names}
    found, unread = await _runs(history, lookups)
    searches = await _searches(history, lookups, progress)
    records = [
        _record(found[lookup], person, searches.get(lookup, []))
        for lookup, _, person in (name.rpartition("#") for name in names)
        if lookup in found
    ]
    return HeldOnPerson(
        records=tuple(record for record in records if record is not None),
        unread=tuple(sorted(unread)),
    )


async def _runs(history: History, lookups: set[str]) -> tuple[dict[str, Run], set[str]]:
    """Return the runs of *lookups*, and those that cannot be read."""
    found: dict[str, Run] = {}
    for stream in sorted({stream_of(lookup) for lookup in lookups}):
        try:
            events: list[RecordedEvent] = [each async for each in history.stream(stream)]
        except (DamagedEvent, NewerEvent):
            continue
        found |= {run.lookup: run for run in runs(events) if run.lookup in lookups}
    return found, lookups - found.keys()


def _record(run: Run, ref: str, searches: Sequence[AnsweredSearch]) -> PersonRecord | None:
    person = run.find(ref)
    if person is None or person.is_erased:
        return None  # erased meanwhile
    contact = next((each for each in run.contacts if each.person == ref), None)
    times = [search.at for search in searches]
    if run.finished_at is not None:
        times.append(run.finished_at)
    return PersonRecord(
        lookup=run.lookup,
        query=run.query,
        brand=None if run.brand is None else run.brand.name,
        sources={} if run.discovery is None else run.discovery.sources,
        person=person,
        contact=contact,
        answered=tuple(searches) if contact is not None else (),
        outcome=run.outcome,
        last_returned_at=max(times, default=None),
    )


async def _searches(
    history: History, lookups: set[str], progress: Progress
) -> Mapping[str, list[AnsweredSearch]]:
    """Return the searches that *lookups* answered, by lookup, in order."""
    labels: dict[str, str] = {}
    brands: dict[str, str] = {}
    answered: dict[str, list[AnsweredSearch]] = {}
    wanted = Selection(types=("key.issued", "search-admitted", "search-settled"))
    async for event in history.events(wanted, progress):
        if event.lookup is not None and event.lookup not in lookups:
            continue
        match from_plain(event.topic, event.data()):
            case KeyIssued(label=label):
                labels[event.stream] = label
            case SearchAdmitted(search=search, brand=brand):
                brands[search] = brand
            case SearchSettled() as settled:
                answered.setdefault(settled.lookup, []).append(
                    AnsweredSearch(
                        search=settled.search,
                        key=event.stream.removeprefix("key-"),
                        key_label=labels.get(event.stream),
                        at=settled.at,
                        brand=brands.get(settled.search),
                        outcome=settled.outcome,
                        charged=settled.charged,
                        reused=settled.cached,
                    )
                )
            case _:
                pass
    return answered
