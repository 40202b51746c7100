"""Erasing a person: everything known of them, now and from now on.

In this order, so that whatever is interrupted is finished by doing it again:

1. The person's stream says by which fingerprints they are suppressed; the key store
   refuses them.  From here on nobody can store anything new about them.  They are taken out
   of the operator's own directory.
2. The data keys of their values are destroyed: the log no longer tells of them.
3. Each lookup they were in goes on, or answers, without them (*contacts erased*).
4. When the views have sealed those results anew, the keys of the old ones are destroyed.
   Those of a stream that cannot be read are destroyed at once: nobody can say what is left
   of them without this person, so they are shown to nobody until it is mended.
5. *Person erased* tells every running service to drop what it holds in memory.

A file that another process reads may keep bytes of what was deleted from it.  Everything else
is done all the same, and then the erasure ends with `DeletedDataRemains`.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager

import msgspec

from cs.directory.port import DirectoryErasure
from cs.domain import person
from cs.domain.causation import AnyCause, OperatorCause
from cs.domain.person import ErasePerson, PersonCommand, SuppressPerson
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.fingerprints import email_print, profile_print
from cs.eventlog.streams import Streams
from cs.keystore.port import KeyStore
from cs.operations.erasure.brand_streams import BrandStreams, by_stream, lookups_of
from cs.operations.erasure.identity import PersonPrints
from cs.operations.erasure.own_directory import erase_from_directory, prints_in_directory
from cs.operations.erasure.paid_answers import ForgetCalls, forget_answers
from cs.operations.erasure.suppressions import person_stream
from cs.runtime.clock import Clock
from cs.runtime.private_files import DeletedDataRemains


class ErasureResult(msgspec.Struct, frozen=True):
    """What an erasure came to.

    Attributes:
        lookups: How many lookups had found them, those erased before included.
        keys: Data keys destroyed for good, this time or before.
        new: Whether anything was known or open that was not before.
        names: Of those keys, ``<lookup>#p1``.
        directory: Rows of the operator's own directory that are gone, this time.
    """

    lookups: int
    keys: int
    new: bool
    names: frozenset[str] = frozenset()
    directory: int = 0


class Unfinished:
    """What of an erasure could not be done; the rest is done first.

    Attributes:
        damaged: The last event that could not be read; ``None`` if all could be.
        files: In which bytes of what was deleted are left.
    """

    def __init__(self) -> None:
        self.damaged: DamagedEvent | None = None
        self.files: dict[str, None] = {}

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Go on after what could not be done within."""
        try:
            yield
        except DamagedEvent as error:
            self.damaged = error
        except DeletedDataRemains as error:
            self.files.update(dict.fromkeys(error.files))

    def check(self) -> None:
        """Raise `DamagedEvent` or `DeletedDataRemains` unless everything is done."""
        if self.damaged is not None:
            raise self.damaged
        if self.files:
            raise DeletedDataRemains(*self.files)


class Erasure:
    """Works while a service runs or not.

    Args:
        reflected: Returns when the views reflect all that is in the log.
        forget_calls: Forgets what providers were paid to say of lookups.
        directory: The operator's own people.
        by: Account or label of who asks for it; it is stored in the events.
    """

    def __init__(
        self,
        streams: Streams,
        keys: KeyStore,
        clock: Clock,
        reflected: Callable[[], Awaitable[None]],
        *,
        forget_calls: ForgetCalls | None = None,
        directory: DirectoryErasure | None = None,
        by: str | None = None,
    ) -> None:
        self._directory = directory
        self._streams = streams
        self._keys = keys
        self._clock = clock
        self._identities = PersonPrints(streams, keys)
        self._brands = BrandStreams(streams, clock)
        self._reflected = reflected
        self._forget_calls = forget_calls
        self._by = by

    def command(self, name: str) -> OperatorCause:
        """Return the cause of what an operator's command *name* does here."""
        return OperatorCause(command=name, who=self._by)

    async def erase_mailbox(self, address: str) -> ErasureResult:
        """Erase whoever has the e-mail *address*, and keep them from being found again."""
        return await self.erase(email_print(self._keys, address))

    async def erase_profile(self, url: str) -> ErasureResult:
        """Erase whoever has the profile *url*, in the form the people sources give it."""
        return await self.erase(profile_print(self._keys, url))

    async def foreseen(self, print_: str) -> frozenset[str]:
        """Return the data keys that `erase` of *print_* would destroy; nothing is changed.

        Those that an erasure before destroyed are left out.
        """
        state: person.PersonState = (await self._streams.load(person_stream(print_))).state
        prints = await self._identities.known_by(print_, {print_, *state.prints}, frozenset())
        found = await self._keys.matching(prints)
        return frozenset((await self._keys.find(found - state.erased_from)).keys())

    async def foreseen_in_directory(self, print_: str) -> int:
        """Return how many rows of the operator's own directory `erase` would hit."""
        if self._directory is None:
            return 0
        state: person.PersonState = (await self._streams.load(person_stream(print_))).state
        known = frozenset({print_, *state.prints})
        known |= await prints_in_directory(self._directory, print_, known)
        return len(await self._directory.printed(known))

    async def erase(
        self,
        print_: str,
        prints: Iterable[str] = (),
        names: Iterable[str] = (),
        *,
        caused_by: AnyCause | None = None,
    ) -> ErasureResult:
        """Erase the person with the fingerprint *print_*.

        Args:
            print_: Names the person's stream.
            prints: By what else this person is known.
            names: Of data keys that are this person's, wherever they are indexed.
            caused_by: What led to it, if no operator's ``cs people erase`` did.

        Raises:
            LogUnavailable: Do it again; it goes on from where it was.
            DamagedEvent: The same, once a stream with something of them is mended.  They
                are shown nowhere any more, and from all other streams they are gone.
            DeletedDataRemains: The same, once nobody else reads the files: they are gone
                from all that is read, but bytes of them are left.
        """
        unfinished = Unfinished()
        caused_by = caused_by or self.command("people erase")
        stream = person_stream(print_)
        before: person.PersonState = (await self._streams.load(stream)).state
        known = frozenset({print_, *prints, *before.prints})
        known |= await prints_in_directory(self._directory, print_, known)
        all_prints = await self._identities.known_by(print_, known, frozenset(names))
        suppressed = await self._append(stream, self._suppress(all_prints), caused_by)
        await self._keys.suppress(all_prints)
        gone = 0
        with unfinished.noted():
            gone = await erase_from_directory(self._directory, frozenset(all_prints))
        found = frozenset(names) | before.erased_from | await self._keys.matching(all_prints)
        await self.take_out(found, caused_by, unfinished)
        # Also if something is unfinished: running services have to drop the keys they hold.
        erase = ErasePerson(found_in=tuple(sorted(found)), by=self._by, at=self._clock.now())
        erased = await self._append(stream, erase, caused_by)
        unfinished.check()
        new = suppressed or erased or gone > 0
        return ErasureResult(len(lookups_of(found)), len(found), new, found, gone)

    async def take_out(
        self, names: frozenset[str], caused_by: AnyCause, unfinished: Unfinished
    ) -> None:
        """Destroy the data keys *names*, and take those they are of out of their lookups.

        *unfinished* notes what could not be read: of that stream nobody was left out, but its
        results with one of them are shown to nobody.
        """
        with unfinished.noted():
            await self._keys.destroy(names)
        stale: list[str] = []
        closed: set[str] = set()
        for stream, people in by_stream(names).items():
            try:
                stale += await self._brands.leave_out(stream, people, caused_by)
            except DamagedEvent as damaged:
                self._streams.set_aside.note(damaged)
                unfinished.damaged = damaged
                closed |= await self._brands.bodies_past_damage(stream, people)
        if closed:
            # Only keys that there are: a lookup that runs on once its stream is mended has
            # none yet, and would never get one.
            with unfinished.noted():
                await self._keys.destroy((await self._keys.find(closed)).keys())
        if stale:
            await self._reflected()
            with unfinished.noted():
                await self._keys.destroy(stale)
        if names:
            with unfinished.noted():
                await forget_answers(self._forget_calls, lookups_of(names))

    def _suppress(self, prints: tuple[str, ...]) -> SuppressPerson:
        return SuppressPerson(prints=prints, by=self._by, at=self._clock.now())

    async def _append(self, stream: str, command: PersonCommand, caused_by: AnyCause) -> bool:
        events, _ = await self._streams.change(
            stream, lambda s: person.decide(command, s), caused_by=caused_by
        )
        return bool(events)
