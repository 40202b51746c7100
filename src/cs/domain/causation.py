"""Causation of events, stored next to the event's own data.

A cause is the last thing that was acted on: the call that asked for a search, the
message in which a stage answered, a timer, a command of an operator, another event, or the
start of a process.  What belongs together (its correlation) the events say themselves:
everything of one run has its ``lookup``, everything of one search its ``search``.
"""

from typing import Literal

import msgspec

#: Kinds of timers.
#:
#: ``deadline``: of a lookup.  ``retry``: of a failed attempt.  ``silence``: work without a
#: heartbeat.  ``ageing``: people that no search has returned for long.  ``mended``: a stream
#: that was damaged can be read again.
Timer = Literal["deadline", "retry", "silence", "ageing", "mended"]


class Cause(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    """Base of all causes.  Stored for ever: no person but an operator is named in one."""


class RequestCause(Cause, frozen=True, kw_only=True, tag="request"):
    """A call of the API.

    Attributes:
        id: The request's, ``req_…``, as the answer's ``X-Request-Id`` has it.
        key: Id of the API key that it came with.
    """

    id: str
    key: str


class MessageCause(Cause, frozen=True, kw_only=True, tag="message"):
    """A message that was read from a topic.

    Attributes:
        topic: Without the operator's prefix.
        id: ``<lookup>/<stage>/<item>/<attempt>/<kind>``, what its header ``message-id``
            begins with (docs/topics.md).
        attempt: At the work that it answers.
    """

    topic: str
    id: str
    attempt: int


class TimerCause(Cause, frozen=True, kw_only=True, tag="timer"):
    """Something was due."""

    timer: Timer


class OperatorCause(Cause, frozen=True, kw_only=True, tag="operator"):
    """An operator's command.

    Attributes:
        command: Its name, as it is typed behind ``cs``.
        who: Account or label; ``None``: not stated.
    """

    command: str
    who: str | None = None


class EventCause(Cause, frozen=True, kw_only=True, tag="event"):
    """An event that a follower of the log acted on, by its position."""

    position: int


class StartCause(Cause, frozen=True, kw_only=True, tag="start"):
    """A process started: it takes up what the last one left."""


AnyCause = RequestCause | MessageCause | TimerCause | OperatorCause | EventCause | StartCause
