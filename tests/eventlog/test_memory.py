import pytest

from contracts.event_log import EventLogContract
from contracts.event_log_ceiling import CeilingContract
from contracts.event_log_people import NoRoom, PeopleContract
from cs.eventlog.port import NO_STREAM, Append
from domain.golden_files import golden_event
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog


@pytest.fixture
def keys() -> MemoryKeyStore:
    return MemoryKeyStore()


@pytest.fixture
def log(keys: MemoryKeyStore) -> MemoryEventLog:
    return MemoryEventLog(keys)


class TestMemoryEventLog(EventLogContract, CeilingContract, PeopleContract):
    pass


async def test_nothing_is_stored_whose_key_could_not_be_made_durable() -> None:
    log = MemoryEventLog(NoRoom())
    found = golden_event("brand.people-found.v1")

    with pytest.raises(OSError, match="no space"):
        await log.append([Append("brand-a", NO_STREAM, [found])])

    assert await log.head() == 0
