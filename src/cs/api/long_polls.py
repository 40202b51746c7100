"""Calls held open, counted: each costs a connection and some memory for 85 seconds."""

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from starlette.types import Receive

#: Calls held at once in this process, if the settings say nothing else.
MAX_LONG_POLLS = 2_000
#: Calls of one key held at once: more than a key's 6 searches a minute can keep waiting,
#: so only who asks for one search over and over meets it.
MAX_LONG_POLLS_PER_KEY = 16


class LongPolls:
    """Bounds held calls.  One that cannot be held is answered 202 at once, not refused."""

    def __init__(
        self, most: int = MAX_LONG_POLLS, most_per_key: int = MAX_LONG_POLLS_PER_KEY
    ) -> None:
        self._most = most
        self._most_per_key = most_per_key
        self._of_key: dict[str, int] = {}
        self.held = 0

    @contextmanager
    def slot(self, key_id: str) -> Iterator[bool]:
        """Count a held call until left; yield whether there was room for it."""
        of_this_key = self._of_key.get(key_id, 0)
        if self.held >= self._most or of_this_key >= self._most_per_key:
            yield False
            return
        self.held += 1
        self._of_key[key_id] = of_this_key + 1
        try:
            yield True
        finally:
            self.held -= 1
            self._of_key[key_id] -= 1
            if not self._of_key[key_id]:
                del self._of_key[key_id]

    async def hold(
        self,
        key_id: str,
        receive: Receive,
        ends: Sequence[Coroutine[Any, Any, None]],
        *,
        leaving: asyncio.Event,
    ) -> bool:
        """Wait until one of *ends* returns, or until the service or the caller leaves.

        Args:
            key_id: Whose call it is; without room for it nothing is waited for.
            receive: Of a call whose body was read.
            ends: What there is to wait for.
            leaving: Set when the service leaves.

        Returns whether the caller has gone.
        """
        with self.slot(key_id) as has_room:
            if not has_room or leaving.is_set():
                for end in ends:
                    end.close()
                return False
            gone = asyncio.ensure_future(_disconnected(receive))
            waits = [gone, *map(asyncio.ensure_future, (*ends, leaving.wait()))]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                return gone.done()
            finally:
                for wait in waits:
                    wait.cancel()
                if not leaving.is_set():  # then nothing may stand before the answer
                    await asyncio.gather(*waits, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    """Return when the caller has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
