import pytest

from contracts.key_store import KeyStoreContract
from cs.keystore.memory import MemoryKeyStore


@pytest.fixture
def keys() -> MemoryKeyStore:
    return MemoryKeyStore()


class TestMemoryKeyStore(KeyStoreContract):
    pass
