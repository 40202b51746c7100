"""Everything that is held on one person, put together for `cs people export`."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from cs.cli.output import stop, warn
from cs.cli.person_data import Disclosures, PersonData, PrintOf, may_hold
from cs.cli.pseudonyms import reading
from cs.cli.revealing import disclose
from cs.directory.errors import DirectoryUnavailable
from cs.directory.person import DirectoryPerson
from cs.domain.disclosure import DisclosedEvents
from cs.domain.person import PersonSuppressed, SuppressionLifted
from cs.history.history import Progress as ProgressOf
from cs.history.identities import identities
from cs.history.person import PersonRecord, held_on
from cs.operations.retention import MONTH
from cs.operations.suppressions import person_stream
from cs.paid_calls.errors import CallsUnavailable
from cs.paid_calls.register import RememberedCall
from cs.settings import Settings

#: Records that the disclosure names; of somebody with more it says no names, which means all.
NAMED = 10_000


class PersonExport(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is held on one person.

    Attributes:
        at: When it was put together; up to ``position`` of the log.
        known: Whether anything is held.
        pseudonym: What they are called in exports without names.
        records: What each lookup stored.
        unread: Lookups that hold something of them, and cannot be read.
        suppressed: Whether they are kept out of later searches.
        suppressed_since: Since when, if it was asked for by this address or profile.
        disclosures: When operators opened data that they may be in, this one aside; ``None``:
            it cannot be told.
        paid_calls: What providers were paid to say for these lookups is remembered, sealed;
            ``None``: the settings do not say where.
        directory: What the operator's own directory has of them; ``None``: the settings do not
            say where it is, or do not name its key.
    """

    at: datetime
    position: int
    known: bool
    pseudonym: str | None
    records: Sequence[PersonRecord]
    unread: Sequence[str]
    suppressed: bool
    suppressed_since: datetime | None
    disclosures: Disclosures
    paid_calls: Sequence[RememberedCall] | None
    directory: Sequence[DirectoryPerson] | None


async def person_report(
    chosen: Settings, at: PersonData, print_of: PrintOf, why: str, out: Path | None
) -> PersonExport:
    """Return what is held on whoever *print_of* names; that it is opened is stored first.

    Args:
        chosen: The settings in force.
        at: The data of those.
        print_of: Makes the person's fingerprint.
        why: They are opened; what `cs.cli.revealing.check_reason` has accepted.
        out: The file that it is written to; ``None``: it is printed.

    Raises:
        SystemExit: Several people go by that; the sentence is told.
        LogUnavailable: Log or key store cannot be read now.
    """
    print_ = print_of(at.keys)
    position = await at.log.head()
    with reading("looking for the person") as show:
        who, names = await _records(at, print_, show)
        opened = DisclosedEvents(
            people=tuple(names) if len(names) <= NAMED else (), upto=position
        )
        upto = position if names else 0  # there is nothing to open
        before = await may_hold(at.log, names)
        await disclose(at.data, "people export", why, opened, upto=upto, out=out)
        at.keys.forget()  # of whoever was erased meanwhile
        held = await held_on(at.log, names, show)
    lookups = {name.rpartition("#")[0] for name in names}
    directory = await _in_directory(at, print_)
    kept_for = MONTH * chosen.people_kept_for
    return PersonExport(
        at=at.data.clock.now(),
        position=position,
        known=bool(held.records or held.unread or directory),
        pseudonym=who,
        records=[replace(r, kept_until=r.forgotten_at(kept_for)) for r in held.records],
        unread=held.unread,
        suppressed=bool(await at.keys.suppressed([print_])),
        suppressed_since=await _suppressed_since(at, print_),
        disclosures=before,
        paid_calls=await _paid_calls(at, lookups),
        directory=directory,
    )


async def _records(
    at: PersonData, print_: str, progress: ProgressOf
) -> tuple[str | None, list[str]]:
    """Return the pseudonym of whoever has the fingerprint *print_*, and all their records."""
    async with identities(at.log, at.keys, progress) as people:
        matching = await people.of(sorted(await at.keys.matching([print_])))
        found = sorted(set(matching.values()))
        if len(found) > 1:
            stop(
                f"{len(found)} people go by that, and each may see only what is held on them: "
                "name the person by --profile"
            )
        if not found:
            return None, []
        return found[0], await people.records_of(found[0])


async def _suppressed_since(at: PersonData, print_: str) -> datetime | None:
    since: datetime | None = None
    for recorded in await at.log.read(person_stream(print_)):
        match recorded.event:
            case PersonSuppressed(at=when):
                since = since or when
            case SuppressionLifted():
                since = None
            case _:
                pass
    return since


async def _paid_calls(
    at: PersonData, lookups: Iterable[str]
) -> Sequence[RememberedCall] | None:
    if at.data.remembered_calls is None:
        return None
    try:
        return await at.data.remembered_calls(sorted(lookups))
    except CallsUnavailable as error:
        warn(f"what providers were paid to say cannot be read now: {error}")
        return None


async def _in_directory(at: PersonData, print_: str) -> Sequence[DirectoryPerson] | None:
    if at.data.directory is None:
        return None
    try:
        found = await at.data.directory.known_by([print_])
    except DirectoryUnavailable as error:
        warn(f"your own directory cannot be read now: {error}")
        return None
    if len(found) > 1:
        warn(
            f"{len(found)} people of your own directory go by that, and each may see only what "
            "is held on them: name the person by --profile"
        )
        return ()
    return found
