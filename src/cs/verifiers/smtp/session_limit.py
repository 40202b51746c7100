"""How many sessions an exchanger's address sees of us at once, whatever the mail domains."""

import asyncio


class Places:
    """Sessions at most to each address at once; who wants one more waits.

    A hundred mail domains may lie behind one host, and each is asked by itself.  Holds
    nothing of an address that nobody asks.

    Args:
        most: Sessions at once to one address, from this process.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._places: dict[str, asyncio.Semaphore] = {}
        self._wanted: dict[str, int] = {}

    def free(self, address: str) -> bool:
        """Return whether a session to *address* may begin at once."""
        place = self._places.get(address)
        return place is None or not place.locked()

    async def take(self, address: str) -> None:
        """Wait for a place at *address*; `give_back` it when the session has ended."""
        place = self._places.setdefault(address, asyncio.Semaphore(self._most))
        self._wanted[address] = self._wanted.get(address, 0) + 1
        try:
            await place.acquire()
        except BaseException:
            self._wants_no_more(address)
            raise

    def give_back(self, address: str) -> None:
        self._places[address].release()
        self._wants_no_more(address)

    def __len__(self) -> int:
        return len(self._places)

    def _wants_no_more(self, address: str) -> None:
        self._wanted[address] -= 1
        if not self._wanted[address]:
            del self._wanted[address], self._places[address]
