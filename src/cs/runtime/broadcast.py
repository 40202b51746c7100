"""Waking everybody who waits for the same thing."""

import asyncio


class Broadcast:
    """Whoever waits is woken by the next `notify_all`; nobody is by one that was before."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def notify_all(self) -> None:
        notified, self._next = self._next, asyncio.Event()
        notified.set()

    def upcoming(self) -> asyncio.Event:
        """Return the event that the next `notify_all` sets.

        Taken before something is looked at that takes a while, it is set by what happens
        meanwhile.
        """
        return self._next

    async def wait(self) -> None:
        """Wait for the next `notify_all`."""
        await self._next.wait()
