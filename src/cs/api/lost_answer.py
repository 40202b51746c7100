"""Whether a search was stored whose append ended without an answer (contract H5).

The append's events carry the request's id, so the key's stream shows it.  What is not there
may still come, if the append may be under way: then nobody knows.
"""

from cs.api.stored_admission import StoredAdmission
from cs.api.time_limits import within
from cs.domain.admission import Admission
from cs.domain.key import Key, SearchAdmitted, SearchRepeated, SearchSettled
from cs.eventlog.categories import CATEGORIES
from cs.eventlog.errors import AppendInDoubt, LogUnavailable
from cs.eventlog.port import EventLog
from cs.eventlog.streams import FoldedState


async def find_stored(
    log: EventLog, stream: str, before: FoldedState[Key], request_id: str, *, within_s: float
) -> StoredAdmission | None:
    """Return what *request_id* has stored in the key's *stream*, ``None`` if nothing so far.

    Args:
        log: Is read for *within_s* seconds at most.
        stream: Of the key.
        before: Its state before the append.
        request_id: Of the call whose append it was.
        within_s: See *log*.

    Raises:
        AppendInDoubt: The log cannot be read in time.
    """
    try:
        async with within(within_s):
            return await _read_stored(log, stream, before, request_id)
    except LogUnavailable as error:
        raise AppendInDoubt(str(error)) from error


async def _read_stored(
    log: EventLog, stream: str, before: FoldedState[Key], request_id: str
) -> StoredAdmission | None:
    found: Admission | None = None
    key = before.state
    for recorded in await log.read(stream, before.version):
        event = recorded.event
        key = CATEGORIES["key"].evolve(key, event)
        if isinstance(event, SearchAdmitted) and event.request == request_id:
            found = Admission(kind="started", search=event.search)
        elif isinstance(event, SearchRepeated) and event.request == request_id:
            found = Admission(kind="repeated", search=event.search)
        elif (
            isinstance(event, SearchSettled)
            and event.cached
            and found is not None
            and found.search == event.search
        ):
            found = Admission(kind="cached", search=event.search)
    return None if found is None else StoredAdmission(found, key)


def may_be_under_way(error: Exception) -> bool:
    """Return whether the append that *error* ended may be stored yet.

    A log may commit after its answer was no longer waited for, here or by itself, and after
    the stream was read.
    """
    return isinstance(error, AppendInDoubt) or isinstance(error.__cause__, TimeoutError)
