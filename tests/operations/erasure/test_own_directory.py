"""Who is erased is taken from the operator's own directory, by all that it knows of them."""

from datetime import date

import pytest
from msgspec.structs import replace

from cs.directory.person import DirectoryPerson, DirectoryRow
from cs.directory.store import DirectoryUnavailable, IndexEntries
from cs.eventlog.fingerprints import profile_print
from cs.eventlog.port import LogUnavailable
from cs.eventlog.streams import Streams
from cs.operations.erasure import DirectoryPrints, Erasure
from cs.runtime.clock import SystemClock
from harness.memory_directory import MemoryDirectory
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog

ADA = DirectoryPerson(
    full_name="Ada Kern",
    company="Acme",
    profile="https://www.linkedin.com/in/ada-kern",
    email="team@acme.example",
    as_of=date(2026, 11, 1),
)
#: At the address of a team, under a profile of their own.
BEN = replace(ADA, full_name="Ben Holt", profile="https://www.linkedin.com/in/ben-holt")


class Directory:
    """The parts that an erasure needs, in memory."""

    def __init__(self) -> None:
        self.keys = MemoryKeyStore()
        self.prints = DirectoryPrints(self.keys)
        self.people = MemoryDirectory(b"k" * 32)
        streams = Streams(MemoryEventLog(self.keys))
        self.erasure = Erasure(
            streams, self.keys, SystemClock(), self._reflected, directory=self.people
        )

    async def _reflected(self) -> None:
        """Nothing is read from views here."""

    async def put(self, *people: DirectoryPerson) -> None:
        rows = [DirectoryRow(each, frozenset(each.__struct_fields__)) for each in people]
        await self.people.put(rows, self._index)

    def _index(self, person: DirectoryPerson) -> IndexEntries:
        return IndexEntries(frozenset(), self.prints.of(person))

    async def left(self) -> set[str]:
        found = [await self.people.get(each.known_as) for each in (ADA, BEN)]
        return {each.full_name for each in found if each is not None}


@pytest.fixture
async def own() -> Directory:
    directory = Directory()
    await directory.put(ADA, BEN)
    return directory


async def test_by_the_profile_only_who_has_it_is_suppressed(own: Directory) -> None:
    assert ADA.profile is not None
    assert BEN.profile is not None
    print_ = profile_print(own.keys, ADA.profile)

    foreseen = (await own.erasure.foresee(print_)).directory
    done = await own.erasure.erase_profile(ADA.profile)

    # Ada's address is theirs: whoever else has it as their own goes, too, as everywhere.
    assert (foreseen, done.directory, await own.left()) == (2, 2, set())
    suppressed = await own.keys.suppressed([*own.prints.of(ADA), *own.prints.of(BEN)])
    assert suppressed == frozenset(own.prints.of(ADA)), "nothing is learned from a namesake"


async def test_again_does_no_harm_and_reapplying_takes_out_who_came_back(
    own: Directory,
) -> None:
    assert ADA.profile is not None
    await own.erasure.erase_profile(ADA.profile)
    again = await own.erasure.erase_profile(ADA.profile)
    await own.put(ADA)  # as a backup of the directory brings them back

    people = await own.erasure.reapply()

    assert (again.directory, again.new, people) == (0, False, 1)
    assert await own.left() == set()


async def test_a_directory_that_is_away_is_reported_and_nothing_is_lost(
    own: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(_: object) -> int:
        raise DirectoryUnavailable("the disk is full")

    assert ADA.profile is not None
    with monkeypatch.context() as patch:
        patch.setattr(own.people, "erase", away)
        with pytest.raises(LogUnavailable, match="the disk is full"):
            await own.erasure.erase_profile(ADA.profile)

    assert (await own.erasure.erase_profile(ADA.profile)).directory == 2
