"""Calls held open, counted: a hold costs a connection and some memory for 85 seconds."""

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from starlette.types import Receive

#: Calls held at once in this process unless told otherwise.
HOLDS = 2_000
#: Calls of one key held at once: more than a key's 6 searches a minute can keep waiting,
#: so only who asks for one search over and over meets it.
HOLDS_PER_KEY = 16


class Holds:
    """Places for held calls.  Who gets none is answered 202 at once, so nobody is refused."""

    def __init__(self, most: int = HOLDS, most_per_key: int = HOLDS_PER_KEY) -> None:
        self._most = most
        self._most_per_key = most_per_key
        self._of_key: dict[str, int] = {}
        self.held = 0

    @contextmanager
    def place(self, key_id: str) -> Iterator[bool]:
        """Take a place until left; yield whether there was one."""
        mine = self._of_key.get(key_id, 0)
        if self.held >= self._most or mine >= self._most_per_key:
            yield False
            return
        self.held += 1
        self._of_key[key_id] = mine + 1
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
            key_id: Whose place is taken; without one nothing is waited for.
            receive: Of a call whose body was read.
            ends: What there is to wait for.
            leaving: Set when the service leaves.

        Returns whether the caller has gone.
        """
        with self.place(key_id) as placed:
            if not placed or leaving.is_set():
                for end in ends:
                    end.close()
                return False
            gone = asyncio.ensure_future(_gone(receive))
            waits = [gone, *map(asyncio.ensure_future, (*ends, leaving.wait()))]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                return gone.done()
            finally:
                for wait in waits:
                    wait.cancel()
                if not leaving.is_set():  # then nothing may stand before the answer
                    await asyncio.gather(*waits, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    """Return when the caller has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
