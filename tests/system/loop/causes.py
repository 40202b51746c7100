"""What must be true of the causes in any log, checked without the code that links them."""

from collections.abc import Sequence

from cs.domain.brand.events import ContactsErased, LookupEvent
from cs.domain.causation import (
    OperatorCause,
    RequestCause,
    StartCause,
    TimerCause,
)
from cs.domain.key import SearchAdmitted, SearchSettled
from cs.eventlog.port import EventLog, RecordedEvent
from cs.history.causes import CausedEvent, Explanation, explain


async def explained(log: EventLog) -> dict[int, Explanation]:
    """Return why each event of *log* came about."""
    found = dict[int, Explanation]()
    for position in range(1, await log.head() + 1):
        explanation = await explain(log, position)
        assert explanation is not None, position
        found[position] = explanation
    return found


def origins(explanation: Explanation) -> list[CausedEvent]:
    whole = (*explanation.before, explanation.event)
    return [event for event in whole if not event.follows]


def is_origin(event: CausedEvent) -> bool:
    """Return whether a caller, an operator or time caused *event*, and no other event."""
    match event.caused_by:
        case RequestCause() | OperatorCause() | TimerCause(timer="ageing"):
            return True
        case StartCause():
            return event.stored.stream == "service"
        case _:
            return False


def check_chains(why: dict[int, Explanation]) -> None:
    """Every chain ends at an origin, none is a circle, and forward undoes backward."""
    for position, explanation in why.items():
        known = {event.position for event in (*explanation.before, explanation.event)}
        for event in (*explanation.before, explanation.event):
            assert all(each < event.position for each in event.follows), event
            assert known.issuperset(event.follows), event
        first = origins(explanation)
        assert first, explanation.event
        assert [event for event in first if not is_origin(event)] == [], explanation.event
        for event in explanation.before:
            led_to = {each.position for each in why[event.position].after}
            assert position in led_to, (event.position, position)


def check_against_the_events(
    events: Sequence[RecordedEvent], why: dict[int, Explanation]
) -> None:
    """What a call led to is what the events themselves say belongs to it."""
    started: dict[str, RecordedEvent] = {}  # lookup -> the search that began it
    admitted: dict[str, RecordedEvent] = {}
    for recorded in events:
        if isinstance(recorded.event, SearchAdmitted):
            admitted[recorded.event.search] = recorded
            started.setdefault(recorded.event.lookup, recorded)
    led_to = {
        position: {each.position for each in explanation.after}
        for position, explanation in why.items()
    }
    for recorded in events:
        event = recorded.event
        if isinstance(event, LookupEvent) and not isinstance(event, ContactsErased):
            first = started[event.lookup]
            assert recorded.position in led_to[first.position], recorded
            assert isinstance(first.event, SearchAdmitted)
            requests = {
                origin.caused_by.id
                for origin in origins(why[recorded.position])
                if isinstance(origin.caused_by, RequestCause)
            }
            assert requests == {first.event.request}, recorded
        if isinstance(event, SearchSettled):
            assert recorded.position in led_to[admitted[event.search].position], recorded
            if not event.cached:
                assert recorded.position in led_to[started[event.lookup].position], recorded
