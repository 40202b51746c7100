"""``GET /usage``."""

from starlette.requests import Request
from starlette.responses import Response

from cs.api.answers import usage_answer
from cs.api.api import Api
from cs.api.counted_check import CheckedKey, answer_check


async def get_usage(api: Api, request: Request) -> Response:
    """Return quota, used and remaining of the calling key."""
    return await answer_check(api, request, _answer)


async def _answer(checked: CheckedKey) -> Response:
    return usage_answer(checked.key, checked.headers)
