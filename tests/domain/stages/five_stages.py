"""A search through the stages of docs/adding-a-stage.md; run in a copy of the sources.

Prints, as JSON, the search's status, the people shown, and the stored topics of the events.
"""

import asyncio
import sys

import msgspec

from cs.domain.codec import topic_of
from cs.runtime import logs
from harness.in_process import in_memory
from harness.outside import ADA, person, tools

DEE = person("Dee Orr", "Ex-Influencer Marketing Manager at Acme")


async def main() -> None:
    logs.configure("error", "console")
    people = tools((ADA, DEE), frozenset({"ada.kern@acme.test", "dee.orr@acme.test"}))
    async with in_memory(people) as service:
        record = (await service.search(await service.new_key(), brand="Acme")).json()
        events = [recorded.event for recorded in await service.running.streams.log.tail(0)]
    found = {
        "status": record["status"],
        "names": [contact["full_name"] for contact in record["contacts"]],
        "topics": [topic_of(event) for event in events],
    }
    sys.stdout.write(msgspec.json.encode(found).decode())


if __name__ == "__main__":
    asyncio.run(main())
