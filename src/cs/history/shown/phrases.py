"""Values in the words of a page."""

from typing import assert_never

from cs.domain.causation import (
    AnyCause,
    EventCause,
    MessageCause,
    OperatorCause,
    RequestCause,
    StartCause,
    TimerCause,
)
from cs.domain.rule_sets import NOT_RECORDED
from cs.history.page.blocks import Tone
from cs.history.words import OUTCOMES


def outcome(said: str) -> str:
    """Return how something ended, with what that means.

    >>> outcome("no_contacts")
    'no_contacts: nobody in a marketing role'
    """
    return f"{said}: {OUTCOMES[said]}" if said in OUTCOMES else said


def yes(said: bool | None) -> str | None:
    return None if said is None else "yes" if said else "no"


def good(is_good: bool) -> Tone:
    return "good" if is_good else "plain"


def people_were(number: int) -> str:
    """Return *number* with its noun and verb.

    >>> people_were(1), people_were(2)
    ('1 person was', '2 people were')
    """
    return "1 person was" if number == 1 else f"{number} people were"


def cause_words(cause: AnyCause | None) -> str:
    """Return *cause* in few words; ``cs events why`` has all of it.

    >>> id_ = "brand-75.1-k7/verification/acme.test/2/result"
    >>> cause_words(MessageCause(topic="cs.outcomes.v1", id=id_, attempt=2))
    'message result, attempt 2'
    >>> cause_words(OperatorCause(command="people erase", who="ada"))
    'operator ada: cs people erase'
    """
    match cause:
        case RequestCause(id=request):
            return f"call {request}"
        case MessageCause(id=message, attempt=attempt):
            return f"message {message.rpartition('/')[2]}, attempt {attempt}"
        case TimerCause(timer=timer):
            return f"timer: {timer}"
        case OperatorCause(command=command, who=who):
            return f"operator {who or 'unnamed'}: cs {command}"
        case EventCause(position=position):
            return f"event {position}"
        case StartCause():
            return "start of a process"
        case None:
            return NOT_RECORDED
        case _:
            assert_never(cause)
