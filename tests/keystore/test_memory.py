import pytest

from contracts.key_store import KeyStoreContract
from harness.memory_keys import MemoryKeyStore


@pytest.fixture
def keys() -> MemoryKeyStore:
    return MemoryKeyStore()


class TestMemoryKeyStore(KeyStoreContract):
    pass
