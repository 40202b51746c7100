"""All data about one person: the records of lookups, and the searches they answered."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from cs.domain.brand.brand import stream_of
from cs.domain.contact import Contact, Query
from cs.eventlog.port import DamagedEvent, EventLog, NewerEvent
from cs.history.history import Progress, unseen
from cs.history.loading import Search, load
from cs.history.runs import Run, RunPerson
from cs.history.selection import Selection
from cs.keystore.port import KeyStore


class PersonRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The data of one lookup about a person.

    Attributes:
        query: The requested brand; ``brand``: the name of the matched one.
        sources: The sources of people that were asked; ``person.found.sources`` are those that
            returned this person.
        person: All data that was found, with every conversation with a mail server.
        contact: The person in the result of the lookup; ``None``: not in it.
        answered: The searches that it answered, if the contact is in it, in order.
        outcome: Of the lookup; ``None``: it runs.
        last_returned_at: When a search was last answered by this lookup.
        kept_until: When the service forgets it, if no search returns it again; ``None``: its
            lookup runs, or it was not asked for.
    """

    lookup: str
    query: Query
    brand: str | None
    sources: dict[str, str]
    person: RunPerson
    contact: Contact | None
    answered: tuple[Search, ...]
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
    """The data of all lookups about one person.

    Attributes:
        records: In order of position.
        unread: Lookups that cannot be read; their data is not here.
    """

    records: tuple[PersonRecord, ...]
    unread: tuple[str, ...] = ()


async def held_on(
    log: EventLog, keys: KeyStore, names: Sequence[str], progress: Progress = unseen
) -> HeldOnPerson:
    """Return the data in *log* about the person of the records *names*, ``<lookup>#p1``.

    People are opened: note it before (`Operator.disclose`).

    Raises:
        LogUnavailable: Log or key store cannot be read now.
        DamagedEvent, NewerEvent: The answers of searches cannot be read.
    """
    lookups = {name.rpartition("#")[0] for name in names}
    streams = tuple(sorted(set(map(stream_of, lookups))))
    damaged = set[str]()

    def note(error: DamagedEvent | NewerEvent) -> None:
        if error.stream not in streams:
            raise error
        damaged.add(error.stream)

    found: dict[str, Run] = {}
    answered = defaultdict[str, list[Search]](list)
    their = Selection(brands=streams, upto=None if streams else 0)
    async for part in load(log, keys, their, unreadable=note, progress=progress):
        found |= {run.lookup: run for run in part.runs if run.lookup in lookups}
        for each in part.searches:
            answered[each.lookup] += [each] if each.settled_at is not None else []
    found = {lookup: run for lookup, run in found.items() if run.stream not in damaged}
    records = [
        _record(found[lookup], person, answered[lookup])
        for lookup, _, person in (name.rpartition("#") for name in names)
        if lookup in found
    ]
    return HeldOnPerson(
        records=tuple(record for record in records if record is not None),
        unread=tuple(sorted(lookups - found.keys())),
    )


def _record(run: Run, ref: str, searches: Sequence[Search]) -> PersonRecord | None:
    person = run.find(ref)
    if person is None or person.is_erased:
        return None  # erased meanwhile
    contact = next((each for each in run.contacts if each.person == ref), None)
    times = [search.settled_at for search in searches if search.settled_at is not None]
    if run.finished_at is not None:
        times.append(run.finished_at)
    return PersonRecord(
        lookup=run.lookup,
        query=run.query,
        brand=None if run.brand is None else run.brand.name,
        sources=next(
            (a.sources for a in run.attempts if a.stage == "contact-discovery" and a.sources),
            {},
        ),
        person=person,
        contact=contact,
        answered=tuple(searches) if contact is not None else (),
        outcome=run.outcome,
        last_returned_at=max(times, default=None),
    )
