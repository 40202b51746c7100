"""The headers of a record: whose it is and how long it counts, without reading its value.

They help tracing, filtering and looking at topics.  Nothing is decided by them but, inside one
process, whose turn it is (`cs.bus.memory`): what a record says stands in its value, and one
that comes without headers is as good.
"""

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import msgspec

from cs.bus.topics import PublicEvent
from cs.domain.stages.work import Alive, AnyFinding, MailboxChecked, Outcome, PeopleSeen, Work

TRACEPARENT = "traceparent"
MESSAGE_ID = "message-id"
ATTEMPT = "attempt"
DEADLINE = "deadline"
SCHEMA = "schema"
EVENT = "event"
#: Inside one process only: the API key whose search started the lookup.
ASKED_BY = "asked-by"

#: Name and version of each message (docs/topics.md).
WORK_SCHEMA = "cs.work.v1"
OUTCOME_SCHEMA = "cs.outcome.v1"
EVENT_SCHEMA = "cs.event.v1"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Version 00 of W3C Trace Context (Recommendation of 2021-11-23, section 3.2): trace and
#: parent, neither of them all zeros.
_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def work_headers(work: Work) -> dict[str, str]:
    """Return the headers of *work*: the same ones whenever it is published.

    >>> from cs.domain.contact import Query
    >>> from cs.domain.stages.work import ResolutionInput
    >>> asked = ResolutionInput(Query("Acme"))
    >>> due = datetime(2026, 1, 1, tzinfo=UTC)
    >>> work = Work(
    ...     lookup="brand-a.1", stage="ranking", attempt=2, deadline_at=due, input=asked
    ... )
    >>> headers = work_headers(work)
    >>> headers["message-id"], headers["attempt"], headers["deadline"]
    ('brand-a.1/ranking//2/work', '2', '1767225600000')
    """
    name = _name(work, work.attempt, "work")
    return {
        TRACEPARENT: _traceparent(work.lookup, name),
        MESSAGE_ID: name,
        ATTEMPT: str(work.attempt),
        DEADLINE: str(_unix_ms(work.deadline_at)),
        SCHEMA: WORK_SCHEMA,
    }


def outcome_headers(
    outcome: Outcome, work: Work, incoming: Mapping[str, str], *, at: datetime
) -> dict[str, str]:
    """Return the headers of *outcome*, an answer to *work*.

    Args:
        outcome: Its attempt may be a later one than that of *work*.
        work: What it answers.
        incoming: The headers that *work* came with; its trace goes on.
        at: Now, which tells heartbeats apart.
    """
    kind = outcome.finding.__struct_config__.tag
    name = _name(work, outcome.attempt, f"{kind}{_discriminator(outcome.finding, at)}")
    return {
        TRACEPARENT: place_of(incoming, work.lookup),
        MESSAGE_ID: name,
        ATTEMPT: str(outcome.attempt),
        DEADLINE: str(_unix_ms(work.deadline_at)),
        SCHEMA: OUTCOME_SCHEMA,
    }


def root_place(lookup: str) -> str:
    """Return the place of the call that started *lookup*, which its trace begins with."""
    return _traceparent(lookup, lookup)


def place_of(incoming: Mapping[str, str], lookup: str) -> str:
    """Return the place in a trace that a record of *lookup* came with."""
    found = incoming.get(TRACEPARENT, "")
    return found if _TRACEPARENT.fullmatch(found) else root_place(lookup)


def answer_id(outcome: Outcome) -> str:
    """Return what the id of *outcome* begins with: of whose work which answer it is.

    What may stand behind it, to tell several of one attempt apart, is left out: of people
    seen it is a hash of them.

    >>> from cs.domain.stages.work import PeopleSeen
    >>> seen = PeopleSeen(people=())
    >>> answer_id(Outcome(lookup="brand-a.1", stage="ranking", attempt=2, finding=seen))
    'brand-a.1/ranking//2/people-seen'
    """
    return _name(outcome, outcome.attempt, str(outcome.finding.__struct_config__.tag))


def event_headers(event: PublicEvent) -> dict[str, str]:
    """Return the headers of *event* on the public feed; the trace is its lookup's."""
    name = f"{event.stream}/{event.version}"
    lookup = msgspec.json.decode(event.state, type=_OfLookup).lookup
    return {
        TRACEPARENT: _traceparent(lookup or event.stream, name),
        MESSAGE_ID: name,
        SCHEMA: EVENT_SCHEMA,
        EVENT: event.topic,
    }


def trace_id(incoming: Mapping[str, str], lookup: str) -> str:
    """Return the id of the trace that a record of *lookup* came with, for log lines."""
    return place_of(incoming, lookup).split("-")[1]


class _OfLookup(msgspec.Struct):
    lookup: str | None = None


def _name(work: Work | Outcome, attempt: int, kind: str) -> str:
    return f"{work.lookup}/{work.stage}/{work.item}/{attempt}/{kind}"


def _discriminator(finding: AnyFinding, at: datetime) -> str:
    """Return what distinguishes *finding* from others of its kind in one attempt.

    A result comes once in an attempt, also if another worker repeats it.
    """
    match finding:
        case MailboxChecked(checked=checked):
            return f"/{checked.person}"
        case PeopleSeen():
            return f"/{hashlib.sha256(msgspec.json.encode(finding)).hexdigest()[:16]}"
        case Alive():
            return f"/{_unix_ms(at)}"
        case _:
            return ""


def _traceparent(lookup: str, message: str) -> str:
    # Made from names, so that a message that is published again is in the same place.
    parent = hashlib.sha256(f"span {message}".encode()).hexdigest()[:16]
    return f"00-{_trace_of(lookup)}-{parent}-01"


def _trace_of(lookup: str) -> str:
    return hashlib.sha256(f"trace {lookup}".encode()).hexdigest()[:32]


def _unix_ms(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)
