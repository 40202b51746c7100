"""A start reads what it needs of a long log, and not the log."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from harness.in_process import one_process
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.outside import tools
from harness.stores import stores_in_memory
from projections.long_history import write_long

#: One search each of five events.
EVENTS = 2_000


class CountedLog(MemoryEventLog):
    """Counts what is read of it, by how."""

    def __init__(self, keys: MemoryKeyStore) -> None:
        super().__init__(keys)
        self.events = Counter[str]()

    async def tail(self, *args: Any, **kwargs: Any) -> Sequence[Any]:
        return self._counted("tail", await super().tail(*args, **kwargs))

    async def read(self, *args: Any, **kwargs: Any) -> Sequence[Any]:
        return self._counted("read", await super().read(*args, **kwargs))

    async def stored(self, *args: Any, **kwargs: Any) -> Sequence[Any]:
        return self._counted("stored", await super().stored(*args, **kwargs))

    async def select(self, *args: Any, **kwargs: Any) -> Sequence[Any]:
        return self._counted("select", await super().select(*args, **kwargs))

    def _counted(self, how: str, found: Sequence[Any]) -> Sequence[Any]:
        self.events[how] += len(found)
        return found


async def test_a_start_folds_nothing_of_a_log_whose_views_are_at_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Besides the keys in use, whose number is bounded.
    monkeypatch.setattr("cs.assembly.call_answering.WARM_EVENTS", 0)
    keys = MemoryKeyStore()
    async with stores_in_memory(log := CountedLog(keys), keys) as stores:
        await write_long(log, EVENTS)
        await stores.catch_up()
        assert log.events["tail"] >= EVENTS
        log.events.clear()
        async with one_process(log, keys, stores.views, tools()) as service:
            assert (await service.running.ready.check())[0]

    # The event at the checkpoint, to know that the views are of this log; and those that the
    # start may append and read itself.
    assert log.events.total() < 20, log.events
