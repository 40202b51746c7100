"""One person: how commands name them, and everything that is held on them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from msgspec.structs import replace

from cs.assembly.operator_command import CommandContext
from cs.cli.output import stop, warn
from cs.cli.progress import reading
from cs.directory.errors import DirectoryUnavailable
from cs.directory.person import DirectoryPerson
from cs.domain.disclosure import DisclosedEvents
from cs.domain.mail.syntax import ascii_mailbox, is_mailbox
from cs.domain.names.profile_url import person_page
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.fingerprints import email_print, profile_print
from cs.eventlog.port import EventLog
from cs.history.disclosures import HeldBy, disclosures_of
from cs.history.identities import identities
from cs.history.person import PersonRecord, held_on
from cs.keystore.port import KeyStore
from cs.operations.retention import MONTH
from cs.operations.suppressions import Suppressions
from cs.paid_calls.errors import CallsUnavailable
from cs.paid_calls.register import RememberedCall

#: Records that a disclosure names; of a person with more it names none, which means all.
_NAMED = 10_000
#: Makes the fingerprint of a person with the key store that has their data.
PrintOf = Callable[[KeyStore], str]
#: ``None``: not known, because some of the log is damaged.
Disclosures = Sequence[HeldBy] | None


@Parameter(name="*")
@dataclass(frozen=True)
class Named:
    """The options that name one person."""

    email: Annotated[str | None, Parameter(help="An e-mail of the person.")] = None
    profile: Annotated[str | None, Parameter(help="Address of their LinkedIn profile.")] = None

    @property
    def known_as(self) -> str:
        """Return ``profile:…`` or ``email:…``; a mistake ends the command."""
        if (self.email is None) == (self.profile is None):
            stop("name the person by --email or by --profile, one of the two", 2)
        if self.profile is not None:
            url = self.profile if "://" in self.profile else f"https://{self.profile}"
            page = person_page(url)
            if page is None:
                stop("--profile: a LinkedIn profile, https://www.linkedin.com/in/…", 2)
            return f"profile:{page}"
        address = ascii_mailbox(self.email or "").lower()
        if not is_mailbox(address):
            stop("--email: one address, jane@example.com", 2)
        return f"email:{address}"

    @property
    def print_of(self) -> PrintOf:
        """Return what makes the person's fingerprint; a mistake ends the command."""
        kind, _, value = self.known_as.partition(":")
        make = email_print if kind == "email" else profile_print
        return lambda keys: make(keys, value)


NOBODY = Named()


async def may_hold(log: EventLog, people: Iterable[str]) -> Disclosures:
    """Return the disclosures that may hold *people*, ``<lookup>#p1``; warn if it is not known.

    Raises:
        LogUnavailable: The log cannot be read now.
    """
    with reading("looking for disclosures") as show:
        try:
            return await disclosures_of(log, people, show)
        except (DamagedEvent, msgspec.MsgspecError):
            warn(
                "which exports may hold this person is not known: some of the log is "
                "damaged; mend it (`cs log verify` lists it all), then run this again"
            )
            return None


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
            it is not known.
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


async def person_export(
    data: CommandContext, print_: str, why: str, out: Path | None, *, kept_for_months: int
) -> PersonExport:
    """Return what is held on the person with the fingerprint *print_*.

    That their data is opened is stored first, with the reason *why*, and the file *out* if
    it goes into one.

    Raises:
        SystemExit: Several people go by that fingerprint.
        LogUnavailable: Log or key store cannot be read now.
    """
    position = await data.log.head()
    with reading("looking for the person") as show:
        async with identities(data.log, data.keys, show) as people:
            matching = await people.of(sorted(await data.keys.matching([print_])))
            pseudonyms = sorted(set(matching.values()))
            if len(pseudonyms) > 1:
                stop(
                    f"{len(pseudonyms)} people go by that, and each may see only what is held "
                    "on them: name the person by --profile"
                )
            names = [name for who in pseudonyms for name in await people.records_of(who)]
        asked = DisclosedEvents(
            people=tuple(names) if len(names) <= _NAMED else (), upto=position
        )
        before = await may_hold(data.log, names)
        upto = position if names else 0  # there is nothing to open
        file = out.name if out else None
        await data.operator.disclose("people export", why, asked, upto=upto, file=file)
        data.keys.forget()  # of a person who was erased meanwhile
        held = await held_on(data.log, data.keys, names, show)
    directory = await _in_directory(data, print_)
    suppressions = Suppressions(data.streams, data.keys, data.clock)
    since = [each.since for each in await suppressions.listed(print_)]
    kept_for = MONTH * kept_for_months
    return PersonExport(
        at=data.clock.now(),
        position=position,
        known=bool(held.records or held.unread or directory),
        pseudonym=pseudonyms[0] if pseudonyms else None,
        records=[replace(r, kept_until=r.forgotten_at(kept_for)) for r in held.records],
        unread=held.unread,
        suppressed=bool(await data.keys.suppressed([print_])),
        suppressed_since=since[0] if since else None,
        disclosures=before,
        paid_calls=await _paid_calls(data, {name.rpartition("#")[0] for name in names}),
        directory=directory,
    )


async def _paid_calls(
    data: CommandContext, lookups: Iterable[str]
) -> Sequence[RememberedCall] | None:
    if data.remembered_calls is None:
        warn("answers of paid providers are not looked for: the settings lack stages_postgres")
        return None
    try:
        return await data.remembered_calls(sorted(lookups))
    except CallsUnavailable as error:
        warn(f"the answers of paid providers cannot be read now: {error}")
        return None


async def _in_directory(data: CommandContext, print_: str) -> Sequence[DirectoryPerson] | None:
    if data.directory is None:
        warn("your own directory is not searched: the settings lack it or its key")
        return None
    try:
        found = await data.directory.known_by([print_])
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
