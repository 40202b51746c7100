"""Status and usage checks that wait for nothing: counted, read and answered in one go.

Where the log and the views are files of this machine, what decides is read in microseconds
(`cs.sqlite.quick_reads`), and most of such a call would be its waiting: a task, time limits,
slots.  What cannot be answered so, for whatever reason, is answered by the endpoints, as if
nobody had tried; so here is nothing but the good case, and no error has words.
"""

from starlette.types import Scope

from cs.api.answers import JsonResponse, search_answer, usage_answer
from cs.api.api import Api
from cs.api.call_log import SEARCH, search_id
from cs.api.credentials import known_caller
from cs.api.rate_limit_headers import daily_headers

USAGE_PATH = "/v1/usage"


def check_at_once(api: Api, scope: Scope) -> JsonResponse | None:
    """Return the 200 of the check in *scope*, with its caller's key noted there.

    ``None``: it is no check, or there is something to wait for or to refuse.  Then nothing was
    counted.
    """
    path: str = scope["path"]
    search = search_id(path) if path.startswith(SEARCH) else None
    if scope["method"] != "GET" or (search is None and path != USAGE_PATH):
        return None
    caller = known_caller(scope["headers"], api.key_ring)
    if caller is None or caller.key_id in api.read_limiter:
        return None
    at = api.clock.now()
    check = api.checks.count_at_once(caller.key_id, at)
    if check is None or not check.counted:
        return None
    answer = None
    try:
        folded = api.streams.at_once(f"key-{caller.key_id}")
        if folded is not None and folded.state.opened_by(caller.secret_hash):
            headers = daily_headers(folded.state, at, check.window)
            if search is None:
                answer = usage_answer(folded.state, headers)
            else:
                found = api.reading.at_once(search, caller.key_id, folded.state)
                answer = None if found is None else search_answer(found, headers)
            api.recent_keys.remember(caller.key_id, folded.state)
    finally:
        if answer is None:
            api.checks.uncount_at_once(caller.key_id, check.at)
    scope["state"]["key_id"] = caller.key_id
    return answer
