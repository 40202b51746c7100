"""``GET /usage``."""

from starlette.requests import Request
from starlette.responses import Response

from cs.api.answers import usage_answer
from cs.api.api import Api
from cs.api.counted_check import counted_check


async def get_usage(api: Api, request: Request) -> Response:
    """Return quota, used and remaining of the calling key."""
    async with counted_check(api, request.state.caller) as checked:
        return usage_answer(checked.key, checked.headers)
