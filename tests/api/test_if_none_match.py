"""The description is sent again only to who has another copy (RFC 9110 13.1.2)."""

import httpx

from cs.api.openapi import is_not_modified
from harness.in_process import in_memory
from harness.outside import tools

OURS = '"9b2c"'


NAMED = (
    *(OURS, f"W/{OURS}", "*", " * ", f'"other", {OURS}', f'"other",{OURS},"third"'),
    *(f'W/"other" ,\tW/{OURS} ', f'"with, a comma", {OURS}', f", {OURS}"),
)
OTHERS = (
    *("", '"other"', '"9b2"', '"9b2c3"', '"a9b2c"', "9b2c", '"*"', f"w/{OURS}"),
    *(f"{OURS}x", f"x{OURS}", '"9b2c, "', 'W/"other", "*"'),
)


def test_a_copy_is_at_hand_if_it_is_named() -> None:
    assert [each for each in NAMED if not is_not_modified(OURS, each)] == []
    assert [each for each in OTHERS if is_not_modified(OURS, each)] == []


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
