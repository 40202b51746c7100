import pytest
from hypothesis import given

from contracts.people_directory import (
    BATCHES,
    KEY,
    PeopleDirectoryContract,
    check_against_a_dict,
)
from cs.directory.person import DirectoryPerson
from harness.memory_directory import MemoryDirectory


@pytest.fixture
def directory() -> MemoryDirectory:
    return MemoryDirectory(KEY)


class TestMemoryDirectory(PeopleDirectoryContract):
    pass


@given(BATCHES)
async def test_rows_come_to_a_dict_by_profile(
    batches: list[list[tuple[DirectoryPerson, frozenset[str]]]],
) -> None:
    await check_against_a_dict(MemoryDirectory(KEY), batches)
