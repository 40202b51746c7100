"""The directory in memory, sealed as on disk: for tests."""

from collections.abc import Iterable, Sequence
from datetime import date

from cs.directory.person import DirectoryPerson, DirectoryRow
from cs.directory.port import PAGE, Changes, DirectoryStatus, IndexOf
from cs.directory.sealing import DirectorySeal, SealedPerson, upsert


class MemoryDirectory:
    def __init__(self, key: bytes) -> None:
        self._seal = DirectorySeal(key)
        self._people: dict[bytes, SealedPerson] = {}

    @property
    def has_people(self) -> bool:
        return bool(self._people)

    async def look(self) -> bool:
        return bool(self._people)

    async def people_at(
        self, places: Iterable[str], *, limit: int
    ) -> Sequence[DirectoryPerson]:
        wanted = {self._seal.where(place) for place in places}
        found = [each for each in self._people.values() if wanted.intersection(each.places)]
        found.sort(key=lambda each: (-each.as_of, each.who))
        return [self._opened(each) for each in found[:limit]]

    async def status(self) -> DirectoryStatus:
        days = [each.as_of for each in self._people.values()]
        if not days:
            return DirectoryStatus()
        first, last = map(date.fromordinal, (min(days), max(days)))
        return DirectoryStatus(len(days), first, last)

    async def printed(self, prints: Iterable[str]) -> Sequence[tuple[str, ...]]:
        return [tuple(map(bytes.hex, each.prints)) for each in self._with(prints)]

    async def erase(self, prints: Iterable[str]) -> int:
        return self._delete(self._with(prints))

    async def put(
        self, rows: Sequence[DirectoryRow], index_of: IndexOf, *, dry_run: bool = False
    ) -> Changes:
        stored = {who: each.box for who, each in self._people.items()}
        sealed, changes = upsert(self._seal, rows, stored, index_of)
        if not dry_run:
            self._people |= {each.who: each for each in sealed}
        return changes

    async def get(self, known_as: str) -> DirectoryPerson | None:
        found = self._people.get(self._seal.who(known_as))
        return None if found is None else self._opened(found)

    async def remove(self, known_as: str) -> bool:
        return self._people.pop(self._seal.who(known_as), None) is not None

    async def clear(self) -> int:
        return self._delete(list(self._people.values()))

    async def known_by(self, prints: Iterable[str]) -> Sequence[DirectoryPerson]:
        return [self._opened(each) for each in self._with(prints)]

    async def forget_before(self, day: date) -> int:
        old = [each for each in self._people.values() if each.as_of < day.toordinal()]
        return self._delete(old[:PAGE])

    def _opened(self, sealed: SealedPerson) -> DirectoryPerson:
        return self._seal.unseal(sealed.who, sealed.box)

    def _with(self, prints: Iterable[str]) -> list[SealedPerson]:
        wanted = {bytes.fromhex(each) for each in prints}
        return [each for each in self._people.values() if wanted.intersection(each.prints)]

    def _delete(self, people: Sequence[SealedPerson]) -> int:
        for each in people:
            del self._people[each.who]
        return len(people)
