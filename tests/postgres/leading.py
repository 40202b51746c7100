"""A process that leads and says so, for the tests of leases."""

import asyncio
import sys

from cs.postgres.errors import Fenced
from cs.postgres.lease import Checkpoint, Leader
from cs.postgres.pool import open_pool
from cs.runtime import logs


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def main(dsn: str) -> None:
    async with open_pool(dsn, role="test") as pool:

        async def work(epoch: int) -> None:
            checkpoint = Checkpoint(pool, "work", epoch)
            position = await checkpoint.load()
            _say(f"leads {epoch}")
            try:
                while True:
                    position += 1
                    await checkpoint.save(position)
                    await asyncio.sleep(0.01)
            except Fenced:
                _say(f"fenced {epoch}")
                raise
            finally:
                _say(f"stopped {epoch}")

        await Leader(pool, "work", "test", work).run()


if __name__ == "__main__":
    logs.configure("error", "json")
    asyncio.run(main(sys.argv[1]))
