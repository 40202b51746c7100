"""What a person may ask for: all that is held on them, or to be erased."""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any

import msgspec
from msgspec.structs import replace

from cs.assembly.operator_command import CommandContext
from cs.directory.person import DirectoryPerson
from cs.directory.store import DirectoryUnavailable
from cs.domain.disclosure import DisclosedEvents
from cs.domain.mail.syntax import ascii_mailbox, is_mailbox
from cs.domain.names.profile_url import person_page
from cs.domain.refusal import Refusal
from cs.eventlog.fingerprints import email_print, profile_print
from cs.eventlog.port import DamagedEvent
from cs.history.disclosures import HeldBy, disclosures_of
from cs.history.history import Progress, unseen
from cs.history.identities import identities
from cs.history.person import held_on
from cs.keystore.port import KeyStore
from cs.operations.erasure import Erasure
from cs.paid_calls.errors import CallsUnavailable
from cs.paid_calls.register import RememberedCall

#: Records that a disclosure names; of a person with more it names none, which means all.
_NAMED = 10_000
#: ``None``: not known, because some of the log is damaged.
Disclosures = Sequence[HeldBy] | None


def known_as(email: str | None, profile: str | None) -> str:
    """Return ``profile:…`` or ``email:…`` of a person who is named by one of the two.

    Raises:
        Refusal: ``person-invalid``: by both, by neither, or by something else.
    """
    if (email is None) == (profile is None):
        raise Refusal(
            "person-invalid", "name the person by --email or by --profile, one of the two"
        )
    if profile is not None:
        page = person_page(profile if "://" in profile else f"https://{profile}")
        if page is None:
            raise Refusal(
                "person-invalid",
                "--profile: a LinkedIn profile, https://www.linkedin.com/in/…",
            )
        return f"profile:{page}"
    address = ascii_mailbox(email or "").lower()
    if not is_mailbox(address):
        raise Refusal("person-invalid", "--email: one address, jane@example.com")
    return f"email:{address}"


def print_of(keys: KeyStore, known: str) -> str:
    """Return the fingerprint of the person *known* as `known_as` says."""
    kind, _, value = known.partition(":")
    return (email_print if kind == "email" else profile_print)(keys, value)


class PersonRequests:
    """Answers requests of people on the data of an operator's command.

    Args:
        data: The data.
        warn: Called with a sentence about a store that could not be looked into.
        progress: Called with how far the log was read.
    """

    def __init__(
        self,
        data: CommandContext,
        *,
        warn: Callable[[str], object] = lambda _: None,
        progress: Progress = unseen,
    ) -> None:
        self._data = data
        self._warn = warn
        self._progress = progress

    @property
    def erasure(self) -> Erasure:
        data = self._data
        return Erasure(
            data.streams,
            data.keys,
            data.clock,
            data.view_runner().catch_up,
            forget_calls=None if data.calls is None else data.calls.erase,
            directory=data.directory_erasure,
            by=data.by,
        )

    async def may_hold(self, people: Iterable[str]) -> Disclosures:
        """Return the disclosures that may hold *people*, ``<lookup>#p1``.

        Raises:
            LogUnavailable: The log cannot be read now.
        """
        try:
            return await disclosures_of(self._data.log, people, self._progress)
        except (DamagedEvent, msgspec.MsgspecError):
            self._warn(
                "which exports may hold this person is not known: some of the log is "
                "damaged; mend it (`cs log verify` lists it all), then run this again"
            )
            return None

    async def held(
        self, known: str, why: str, file: str | None, kept_for: timedelta
    ) -> dict[str, Any]:
        """Return everything that is held on the person *known* as `known_as` says.

        That their data is opened is stored first, with the reason *why*, and the name of the
        *file* if it goes into one.  ``None`` in the place of a list means that it is not known:
        some of the log is damaged, or the settings do not name the store or its key.

        Raises:
            Refusal: ``person-ambiguous``: several people go by that; ``reason-invalid``.
            LogUnavailable: Log or key store cannot be read now.
        """
        data, print_ = self._data, print_of(self._data.keys, known)
        position = await data.log.head()
        async with identities(data.log, data.keys, self._progress) as people:
            matching = await people.of(sorted(await data.keys.matching([print_])))
            pseudonyms = sorted(set(matching.values()))
            if len(pseudonyms) > 1:
                raise Refusal(
                    "person-ambiguous",
                    f"{len(pseudonyms)} people go by that, and each may see only what is held "
                    "on them: name the person by --profile",
                )
            names = [name for who in pseudonyms for name in await people.records_of(who)]
        named = tuple(names) if len(names) <= _NAMED else ()
        before = await self.may_hold(names)
        upto = position if names else 0  # there is nothing to open
        asked = DisclosedEvents(people=named, upto=position)
        await data.operator.disclose("people export", why, asked, upto=upto, file=file)
        data.keys.forget()  # of a person who was erased meanwhile
        held = await held_on(data.log, data.keys, names, self._progress)
        directory = await self._in_directory(print_)
        since = [each.since for each in await self.erasure.suppressed(print_)]
        return {
            "at": data.clock.now(),
            "position": position,  # of the log's last event that is covered
            "known": bool(held.records or held.unread or directory),
            "pseudonym": pseudonyms[0] if pseudonyms else None,  # in exports that hide people
            "records": [replace(r, kept_until=r.forgotten_at(kept_for)) for r in held.records],
            "unread": held.unread,  # lookups that hold data about them and cannot be read
            "suppressed": bool(await data.keys.suppressed([print_])),
            # If it was requested by this address or profile.
            "suppressed_since": since[0] if since else None,
            "disclosures": before,
            "paid_calls": await self._paid_calls({name.rpartition("#")[0] for name in names}),
            "directory": directory,
        }

    async def _paid_calls(self, lookups: Iterable[str]) -> Sequence[RememberedCall] | None:
        if self._data.calls is None:
            self._warn(
                "answers of paid providers are not looked for: the settings lack "
                "stages_postgres"
            )
            return None
        try:
            return await self._data.calls.remembered(sorted(lookups))
        except CallsUnavailable as error:
            self._warn(f"the answers of paid providers cannot be read now: {error}")
            return None

    async def _in_directory(self, print_: str) -> Sequence[DirectoryPerson] | None:
        if self._data.directory is None:
            self._warn("your own directory is not searched: the settings lack it or its key")
            return None
        try:
            found = await self._data.directory.known_by([print_])
        except DirectoryUnavailable as error:
            self._warn(f"your own directory cannot be read now: {error}")
            return None
        if len(found) > 1:
            self._warn(
                f"{len(found)} people of your own directory go by that, and each may see only "
                "what is held on them: name the person by --profile"
            )
            return ()
        return found
