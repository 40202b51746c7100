"""What the commands on one person work with: how the person is named, and their data."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated

import msgspec
from cyclopts import Parameter

from cs.assembly.operator_command import CommandContext, open_command_context
from cs.cli.output import stop, warn
from cs.cli.pseudonyms import reading
from cs.domain.mail.syntax import ascii_mailbox, is_mailbox
from cs.domain.names.profile_url import person_page
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.fingerprints import email_print, profile_print
from cs.eventlog.port import EventLog
from cs.history.disclosures import HeldBy, disclosures_of
from cs.keystore.port import KeyStore
from cs.operations.erasure import Erasure
from cs.settings import Settings

#: Makes the fingerprint of a person with the key store that has their data.
PrintOf = Callable[[KeyStore], str]
#: ``None``: some of the log is damaged, and nobody can say.
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
            stop("--email: one address, somebody@example.com", 2)
        return f"email:{address}"

    @property
    def print_of(self) -> PrintOf:
        """Return what makes the person's fingerprint; a mistake ends the command."""
        kind, _, value = self.known_as.partition(":")
        make = email_print if kind == "email" else profile_print
        return lambda keys: make(keys, value)


NOBODY = Named()


@dataclass(frozen=True)
class PersonData:
    """What a command works with that erases somebody, or asks who is erased."""

    data: CommandContext
    log: EventLog
    keys: KeyStore
    erasure: Erasure


@asynccontextmanager
async def open_person_data(chosen: Settings) -> AsyncIterator[PersonData]:
    async with open_command_context(chosen) as data:
        stores = (data.streams, data.keys, data.clock)
        reflected, calls = data.view_runner().catch_up, data.forget_calls
        yield PersonData(
            data,
            data.log,
            data.keys,
            Erasure(
                *stores,
                reflected,
                forget_calls=calls,
                directory=data.directory_erasure,
                by=data.by,
            ),
        )


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
                "which exports may hold this person cannot be told: some of the log is "
                "damaged; mend it (`cs log verify` lists it all), then run this again"
            )
            return None
