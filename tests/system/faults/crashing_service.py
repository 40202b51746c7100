"""A sandbox service that dies and comes back, at another address each time."""

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path

from cs.domain.contact import Query
from cs.operations.operator import NewSecret
from cs.runtime import failpoints
from cs.runtime.coordination import Broadcast
from harness.served import Served
from harness.stores import opened

#: Longer than any test that waits for an end.
_LIFE_S = 600.0


class CrashingService:
    """The service on *folder* with *world*, running or not, for coroutines.

    The world dies with it, unless it runs elsewhere: at ``addresses``, a file of
    `system.faults.lasting_world`.
    """

    def __init__(self, folder: Path, world: Path) -> None:
        self.folder = folder
        self.world = world
        self.addresses: Path | None = None
        self._served = Served(folder, (str(world),), {"CS_LOG_LEVEL": "warning"})
        self._served.forked = True  # in `make faults` too: how soon it dies goes by that
        self._changed = Broadcast()  # it works, or has ended

    @property
    def lines(self) -> Sequence[str]:
        """All that it wrote on standard error, in all its lives."""
        return self._served.lines

    @property
    def base_url(self) -> str | None:
        """Where it can be called, if it can."""
        return self._served.base_url if self._served.is_ready else None

    async def start(self, fail_points: str = "") -> None:
        """Start it; return at once."""
        loop, served = asyncio.get_running_loop(), self._served

        def notify() -> None:
            loop.call_soon_threadsafe(self._changed.notify_all)

        served.on_change = notify
        served.environment = {**served.environment, failpoints.VARIABLE: fail_points}
        if self.addresses is not None:
            served.module = "system.faults.lasting_world"
            served.words = (str(self.addresses), *served.where)
        served.start(wait=False)

    async def live(self, life_s: float, *, from_birth: bool) -> int:
        """Start it and kill it *life_s* after it started, or could be called; exit code.

        It is the code of its own if it ends before.
        """
        await self.start()
        while not from_birth and self._served.runs and not self._served.is_ready:
            await self._changed.wait()
        ended = asyncio.create_task(self.wait())
        await asyncio.wait({ended}, timeout=life_s)
        self._served.send(signal.SIGKILL)
        return await ended

    async def up(self) -> str:
        """Wait until it can be called; return the base URL."""
        while (url := self.base_url) is None:
            await self._changed.wait()
        return url

    async def wait(self) -> int:
        """Wait until it has ended; return the exit code, -9 for SIGKILL."""
        return await asyncio.to_thread(self._served.wait, _LIFE_S)

    async def stop(self) -> int:
        """Make it leave as an operator would; return the exit code."""
        return await asyncio.to_thread(self._served.stop)

    def kill(self) -> None:
        self._served.kill()


async def new_keys(folder: Path, quotas: list[int]) -> list[NewSecret]:
    """Create a key for each of *quotas*, as an operator does while the service runs or not."""
    async with opened(folder) as stores:
        return [await stores.acting().create_key("faults", quota) for quota in quotas]


async def forget(folder: Path, body: dict[str, str]) -> None:
    """Make the next search for *body* a live one, while the service runs."""
    async with opened(folder) as stores:
        await stores.acting().forget_brand(Query(body.get("brand"), body.get("domain")))
