"""What every directory of people does, wherever it is kept."""

from datetime import date
from hashlib import sha256

from hypothesis import strategies as st
from msgspec.structs import replace

from cs.directory.person import DirectoryPerson, DirectoryRow
from cs.directory.store import Changes, DirectoryStatus, IndexEntries, PeopleDirectory

DAY = date(2026, 11, 1)
ADA = DirectoryPerson(
    full_name="Ada Kern",
    title="Head of Influencer Marketing",
    company="Acme",
    profile="https://www.linkedin.com/in/ada-kern",
    email="ada.kern@acme.example",
    as_of=DAY,
)
BEN = DirectoryPerson(
    full_name="Ben Holt",
    company="Acme",
    profile="https://www.linkedin.com/in/ben-holt",
    as_of=date(2026, 11, 3),
)
CAM = DirectoryPerson(
    full_name="Cam Roe", company="Bolt", email="cam@bolt.example", as_of=date(2025, 1, 2)
)
ALL = frozenset(DirectoryPerson.__struct_fields__)
KEY = b"k" * 32


def index(person: DirectoryPerson) -> IndexEntries:
    """Return entries as easily told apart as those of the service."""
    prints = [_print(each) for each in (person.profile, person.email) if each]
    return IndexEntries(frozenset({f"name:{person.company}"}), tuple(prints))


def _print(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def row(person: DirectoryPerson, given: frozenset[str] = ALL) -> DirectoryRow:
    return DirectoryRow(person, given)


async def put(directory: PeopleDirectory, *people: DirectoryPerson) -> Changes:
    return await directory.put([row(each) for each in people], index)


def of(person: DirectoryPerson) -> str:
    return index(person).prints[0]


class PeopleDirectoryContract:
    """Inherit, and give a fixture ``directory``, an empty one."""

    async def test_nobody_is_in_a_new_one(self, directory: PeopleDirectory) -> None:
        assert not await directory.look()
        assert not directory.has_people
        assert await directory.people_at(["name:Acme"], limit=5) == []
        assert await directory.status() == DirectoryStatus()
        assert await directory.get(ADA.known_as) is None
        assert not await directory.remove(ADA.known_as)
        assert await directory.printed([of(ADA)]) == []
        assert await directory.erase([of(ADA)]) == await directory.clear() == 0
        assert await directory.forget_before(DAY) == 0

    async def test_people_are_found_where_they_work_the_latest_known_first(
        self, directory: PeopleDirectory
    ) -> None:
        assert await put(directory, ADA, BEN, CAM) == Changes(new=3)

        assert await directory.people_at(["name:Acme", "name:x"], limit=5) == [BEN, ADA]
        assert await directory.people_at(["name:Acme", "name:Bolt"], limit=1) == [BEN]
        assert await directory.people_at(["name:Acme Robotics"], limit=5) == []
        assert await directory.look()
        assert directory.has_people
        assert await directory.status() == DirectoryStatus(3, CAM.as_of, BEN.as_of)
        assert [await directory.get(each.known_as) for each in (ADA, CAM)] == [ADA, CAM]

    async def test_the_same_again_changes_nothing(self, directory: PeopleDirectory) -> None:
        await put(directory, ADA, BEN)

        assert await put(directory, ADA, BEN) == Changes(unchanged=2)

    async def test_who_moves_is_found_at_the_new_place_only(
        self, directory: PeopleDirectory
    ) -> None:
        await put(directory, ADA, BEN)
        moved = replace(ADA, company="Bolt", email=None)

        assert await put(directory, moved) == Changes(updated=1)

        assert await directory.people_at(["name:Acme"], limit=5) == [BEN]
        assert await directory.people_at(["name:Bolt"], limit=5) == [moved]
        assert await directory.printed([index(ADA).prints[1]]) == [], "no mailbox any more"

    async def test_what_a_file_does_not_tell_of_stays(self, directory: PeopleDirectory) -> None:
        await put(directory, ADA)
        later = replace(ADA, title="VP Social", email=None, as_of=date(2026, 11, 9))

        told = frozenset({"full_name", "profile", "title"})
        assert await directory.put([row(later, told)], index) == Changes(updated=1)
        again = await directory.put([row(replace(later, as_of=date(2026, 12, 1)), told)], index)

        assert await directory.get(ADA.known_as) == replace(later, email=ADA.email)
        assert again == Changes(unchanged=1), "a file is no newer when it is read again"

    async def test_a_dry_run_says_what_would_change(self, directory: PeopleDirectory) -> None:
        await put(directory, ADA)
        rows = [row(ADA), row(replace(ADA, title="CMO")), row(BEN)]

        foreseen = await directory.put(rows, index, dry_run=True)

        assert foreseen == Changes(new=1, updated=1, unchanged=1)
        assert await directory.get(ADA.known_as) == ADA
        assert await directory.get(BEN.known_as) is None
        assert await directory.put(rows, index) == foreseen

    async def test_who_is_erased_is_nowhere(self, directory: PeopleDirectory) -> None:
        await put(directory, ADA, BEN, CAM)

        assert await directory.printed([index(ADA).prints[1], of(CAM)]) in (
            [index(ADA).prints, index(CAM).prints],
            [index(CAM).prints, index(ADA).prints],
        )
        assert await directory.erase([index(ADA).prints[1], of(CAM)]) == 2

        assert await directory.people_at(["name:Acme", "name:Bolt"], limit=5) == [BEN]
        assert await directory.known_by([of(ADA), of(BEN)]) == [BEN]
        assert await directory.erase([of(ADA)]) == 0
        assert (await directory.status()).people == 1

    async def test_one_is_removed_and_all_are(self, directory: PeopleDirectory) -> None:
        await put(directory, ADA, BEN, CAM)

        assert await directory.remove(ADA.known_as)
        assert not await directory.remove(ADA.known_as)
        assert await directory.get(ADA.known_as) is None
        assert await directory.clear() == 2

        assert not await directory.look()
        assert await put(directory, ADA) == Changes(new=1)

    async def test_who_is_known_of_long_ago_is_forgotten(
        self, directory: PeopleDirectory
    ) -> None:
        await put(directory, ADA, BEN, CAM)

        gone = 0
        while now := await directory.forget_before(BEN.as_of):
            gone += now

        assert gone == 2
        assert await directory.status() == DirectoryStatus(1, BEN.as_of, BEN.as_of)


_PEOPLE = st.builds(
    DirectoryPerson,
    full_name=st.sampled_from(["Ada", "Ben"]),
    company=st.sampled_from(["Acme", "Bolt"]),
    title=st.none() | st.sampled_from(["CMO", "VP"]),
    profile=st.sampled_from([f"https://www.linkedin.com/in/p{n}" for n in range(4)]),
    as_of=st.just(DAY),
)
_FIELDS = st.sets(st.sampled_from(["title", "company", "as_of"])).map(
    lambda some: frozenset({"full_name", "profile", *some})
)
#: Imports, each of batches of rows.
BATCHES = st.lists(st.lists(st.tuples(_PEOPLE, _FIELDS), max_size=5), max_size=5)


async def check_against_a_dict(
    directory: PeopleDirectory, batches: list[list[tuple[DirectoryPerson, frozenset[str]]]]
) -> None:
    """Import *batches*, and compare with a dict by profile."""
    model: dict[str, DirectoryPerson] = {}
    for batch in batches:
        expected = Changes()
        for person, given in batch:
            before = model.get(person.known_as)
            told = {field: getattr(person, field) for field in given}
            after = person if before is None else replace(before, **told)
            expected.new += before is None
            expected.updated += before is not None and after != before
            expected.unchanged += after == before
            model[person.known_as] = after
        assert await directory.put([row(*each) for each in batch], index) == expected
    assert (await directory.status()).people == len(model)
    for known_as, person in model.items():
        assert await directory.get(known_as) == person
    for company in ("Acme", "Bolt"):
        there = await directory.people_at([f"name:{company}"], limit=10)
        in_model = [each for each in model.values() if each.company == company]
        assert sorted(there, key=str) == sorted(in_model, key=str)
