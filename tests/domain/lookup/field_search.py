"""A search for somebody whose department is known; run in a copy of the sources.

Prints, as JSON, the people as callers get them.
"""

import asyncio
import sys
from typing import Any

import msgspec

from cs.domain.contact import Sighting
from cs.runtime import logs
from harness.in_process import in_memory
from harness.outside import ADA, tools


async def main() -> None:
    logs.configure("error", "console")
    fields: dict[str, Any] = {**msgspec.structs.asdict(ADA), "department": "Marketing"}
    async with in_memory(tools((Sighting(**fields),))) as service:
        record = (await service.search(await service.new_key(), brand="Acme")).json()
    sys.stdout.write(msgspec.json.encode(record["contacts"]).decode())


if __name__ == "__main__":
    asyncio.run(main())
