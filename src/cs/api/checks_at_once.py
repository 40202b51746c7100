"""Status and usage checks without a task: counted, read and answered in one go.

Where the log and the views are files of this machine, what decides is read in microseconds
(`cs.sqlite.quick_reads`), and most of such a call would be its waiting: a task, time limits,
slots.  What cannot be answered so, for whatever reason, is answered by the endpoints, as if
nobody had tried; so here is nothing but the good case, and no error has words.

Where they are asked over a network, a check is one question together with those of others
(`cs.checks.port.CheckReads`), and is answered when that is.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

import msgspec
from starlette.types import Scope

from cs.api.answers import JsonResponse, search_answer, usage_answer
from cs.api.api import Api
from cs.api.call_log import SEARCH, search_id
from cs.api.credentials import Caller, known_caller
from cs.api.rate_limit_headers import daily_headers
from cs.checks.port import CheckFacts, CheckQuestion
from cs.domain.key import Key
from cs.projections.reading import EndedSearch

USAGE_PATH = "/v1/usage"

#: Takes the answer to a check; ``None``: the endpoint is to be asked, which finds a check that
#: was counted in the state of the scope (`cs.api.counted_check`).
Answered: TypeAlias = Callable[[JsonResponse | None], None]


def check_at_once(api: Api, scope: Scope) -> JsonResponse | None:
    """Return the 200 of the check in *scope*, with its caller's key noted there.

    ``None``: it is no check, or there is something to wait for or to refuse.  Then nothing was
    counted.
    """
    caller = _caller_of_check(api, scope)
    if caller is None:
        return None
    search = search_id(scope["path"])
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


def check_together(api: Api, scope: Scope, answered: Answered) -> bool:
    """Ask for what the check in *scope* depends on; return whether *answered* will be called.

    If so, it is called once, from the event loop, within the time of `CheckReads`.  If not,
    nothing was counted.
    """
    caller = None if api.check_reads is None else _caller_of_check(api, scope)
    if caller is None or api.check_reads is None:
        return False
    folded = api.streams.remembered(f"key-{caller.key_id}")
    if folded is None or not folded.state.opened_by(caller.secret_hash):
        return False
    ended = None
    search = search_id(scope["path"])
    if search is not None:
        ended = api.reading.ended(search, caller.key_id, folded.state)
        if ended is None:
            return False
    lookup = "" if ended is None else ended.row.lookup
    facts = api.check_reads.ask(CheckQuestion(caller.key_id, folded.version, lookup))
    if facts is None:
        return False
    asked = AskedCheck(api, scope, caller, folded.state, api.clock.now(), ended)
    facts.add_done_callback(lambda done: answered(asked.answer(done)))
    return True


class AskedCheck(msgspec.Struct, frozen=True):
    """A check that was asked about; *ended* is the search whose status is asked for."""

    api: Api
    scope: Scope
    caller: Caller
    key: Key
    at: datetime
    ended: EndedSearch | None

    def answer(self, done: asyncio.Future[CheckFacts]) -> JsonResponse | None:
        """Return the 200 that follows; or ``None``, what was counted noted in the scope."""
        if done.cancelled() or done.exception() is not None:
            return None
        facts = done.result()
        try:
            answer = self._good_answer(facts)
        except Exception:  # noqa: BLE001  the endpoint meets it too, and has words for it
            answer = None
        state = self.scope["state"]
        if answer is None:
            state["check"] = facts.check
        else:
            state["key_id"] = self.caller.key_id
        return answer

    def _good_answer(self, facts: CheckFacts) -> JsonResponse | None:
        if not facts.check.counted or not facts.key_unchanged or self.api.draining.is_set():
            return None
        self.api.recent_keys.remember(self.caller.key_id, self.key)
        headers = daily_headers(self.key, self.at, facts.check.window)
        if self.ended is None:
            return usage_answer(self.key, headers)
        found = self.api.reading.with_result(self.ended, facts.checkpoint, facts.result)
        return None if found is None else search_answer(found, headers)


def _caller_of_check(api: Api, scope: Scope) -> Caller | None:
    """Return whose check *scope* is, if it is one and no other call of its key waits."""
    path: str = scope["path"]
    search = path.startswith(SEARCH) and search_id(path) is not None
    if scope["method"] != "GET" or not (search or path == USAGE_PATH):
        return None
    caller = known_caller(scope["headers"], api.key_ring)
    return None if caller is None or caller.key_id in api.read_limiter else caller
