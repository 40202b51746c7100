"""The description is sent again only to who has another copy (RFC 9110 13.1.2)."""

import httpx

from harness.in_process import in_memory
from harness.outside import tools


async def test_a_named_copy_is_not_sent_again() -> None:
    async with in_memory(tools()) as service, service.client(await service.new_key()) as client:
        etag = (await client.get("/openapi.json")).headers["ETag"]

        async def status(*named: str) -> int:
            headers = httpx.Headers([("If-None-Match", each) for each in named])
            return (await client.get("/openapi.json", headers=headers)).status_code

        assert await status("*") == 304
        assert await status('"other"', f"W/{etag}") == 304
        assert await status('"other"', f"x{etag}") == 200
        assert await status(etag.replace('"', "")) == 200
