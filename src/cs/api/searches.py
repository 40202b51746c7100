"""``GET /searches/{id}``."""

from starlette.requests import Request
from starlette.responses import Response

from cs.api.answers import search_answer
from cs.api.api import Api
from cs.api.call_log import SEARCH
from cs.api.counted_check import CheckedKey, answer_check
from cs.api.credentials import Caller
from cs.api.errors import ApiError


async def get_search(api: Api, request: Request) -> Response:
    """Return the search as it is now; 404 if it is not of the calling key."""
    caller: Caller = request.state.caller
    search = request.scope["path"].removeprefix(SEARCH)

    async def answer(checked: CheckedKey) -> Response:
        found = await api.reading.search(search, caller.key_id, checked.key)
        if found is not None:
            return search_answer(found, checked.headers)
        message = "no search with this id was made with this key"
        return ApiError("not_found", message, headers=checked.headers).response()

    return await answer_check(api, request, answer)
