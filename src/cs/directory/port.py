"""Where the operator's directory of people is kept.

People are sealed as a whole.  They are found by keyed hashes: of who they are, of the places
that they may be looked for at (forms of a company's name, domains), and by the fingerprints
that erasure goes by.  What is stored names no person and no company in clear.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Protocol

import msgspec

from cs.directory.person import DirectoryPerson, DirectoryRow

#: People that are forgotten in one go.
PAGE = 1_000


class IndexEntries(msgspec.Struct, frozen=True):
    """By what one person is found.

    Attributes:
        places: Texts that say where they work; only their keyed hashes are stored.
        prints: Fingerprints of the key store, in hex; the first one says who it is.
    """

    places: frozenset[str]
    prints: tuple[str, ...]


#: Says by what a person is to be found.
IndexOf = Callable[[DirectoryPerson], IndexEntries]


class Changes(msgspec.Struct):
    """What rows came to, in people."""

    new: int = 0
    updated: int = 0
    unchanged: int = 0


class DirectoryStatus(msgspec.Struct, frozen=True):
    """How many people there are, and of which days they are known."""

    people: int = 0
    oldest: date | None = None
    newest: date | None = None


class DirectoryReader(Protocol):
    """What a search needs.  Every method may raise `DirectoryUnavailable`."""

    @property
    def has_people(self) -> bool:
        """Whether there was anybody when it was last looked at."""

    async def look(self) -> bool:
        """Return whether there is anybody now."""

    async def people_at(
        self, places: Iterable[str], *, limit: int
    ) -> Sequence[DirectoryPerson]:
        """Return who is at any of *places*, the latest known first; at most *limit*."""

    async def status(self) -> DirectoryStatus:
        """Return how many there are and how old."""


class DirectoryErasure(Protocol):
    """What erasing a person needs: none of it opens anybody.

    Methods that forget people may raise `DeletedDataRemains`: they are found no more, but
    bytes are left of them, or of others who were forgotten before.
    """

    async def printed(self, prints: Iterable[str]) -> Sequence[tuple[str, ...]]:
        """Return all fingerprints of each person who has any of *prints*."""

    async def erase(self, prints: Iterable[str]) -> int:
        """Forget all who have any of *prints*; return how many.  Their files keep no byte."""


class PeopleDirectory(DirectoryReader, DirectoryErasure, Protocol):
    """The whole of it."""

    async def put(
        self, rows: Sequence[DirectoryRow], index_of: IndexOf, *, dry_run: bool = False
    ) -> Changes:
        """Store *rows*, one after the other: all or none.

        Args:
            rows: Each is merged into what is known of its person (`merged`).
            index_of: By what they are found from then on.
            dry_run: Only say what would change.
        """

    async def get(self, known_as: str) -> DirectoryPerson | None:
        """Return who is `known_as` that."""

    async def remove(self, known_as: str) -> bool:
        """Forget who is `known_as` that; return whether there was anybody."""

    async def clear(self) -> int:
        """Forget everyone; return how many.  A new key may seal those imported later."""

    async def known_by(self, prints: Iterable[str]) -> Sequence[DirectoryPerson]:
        """Return everyone who has any of *prints*."""

    async def forget_before(self, day: date) -> int:
        """Forget some of who is known of an earlier day; return how many, 0 if none is left.

        A file forgets `PAGE` at once, so that it can be read in between.
        """
