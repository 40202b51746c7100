"""How many sessions an exchanger's address sees of us at once, whatever the mail domains."""

import asyncio


class SessionLimiter:
    """Sessions at most to each address at once; who wants one more waits.

    A hundred mail domains may lie behind one host, and each is asked by itself.  Holds
    nothing of an address that nobody asks.

    Args:
        most: Sessions at once to one address, from this process.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._semaphores: dict[str, asyncio.Semaphore] = {}
        self._users: dict[str, int] = {}

    def has_room(self, address: str) -> bool:
        """Return whether a session to *address* may begin at once."""
        semaphore = self._semaphores.get(address)
        return semaphore is None or not semaphore.locked()

    async def acquire(self, address: str) -> None:
        """Wait until a session to *address* may begin; `release` it when it has ended."""
        semaphore = self._semaphores.setdefault(address, asyncio.Semaphore(self._most))
        self._users[address] = self._users.get(address, 0) + 1
        try:
            await semaphore.acquire()
        except BaseException:
            self._forget_if_unused(address)
            raise

    def release(self, address: str) -> None:
        self._semaphores[address].release()
        self._forget_if_unused(address)

    def __len__(self) -> int:
        return len(self._semaphores)

    def _forget_if_unused(self, address: str) -> None:
        self._users[address] -= 1
        if not self._users[address]:
            del self._users[address], self._semaphores[address]
