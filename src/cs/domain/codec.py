"""Every shape ever stored stays readable: which topic is which event, and upcasts.

A topic is ``<category>.<event>.v<n>``; those that are written are the `EVENT_TOPICS` of
their category's module.  A changed shape gets a new version; the old one stays here, private,
and is upcast on reading: a line in `ALSO_READ`.  ``tests/domain/golden`` has one stored event
of every shape.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import msgspec

from cs.domain import console_operator, disclosure, key, mail_domain, person, service
from cs.domain.brand import events as brand_events

AnyEvent: TypeAlias = (
    key.KeyEvent
    | brand_events.BrandEvent
    | service.ServiceEvent
    | mail_domain.MailDomainEvent
    | person.PersonEvent
    | disclosure.DisclosureEvent
    | console_operator.ConsoleOperatorEvent
)

#: Topics that are written, each with its shape.
TOPICS: Mapping[str, type[AnyEvent]] = {
    **key.EVENT_TOPICS,
    **brand_events.EVENT_TOPICS,
    **service.EVENT_TOPICS,
    **mail_domain.EVENT_TOPICS,
    **person.EVENT_TOPICS,
    **disclosure.EVENT_TOPICS,
    **console_operator.EVENT_TOPICS,
}
_TOPIC_OF = {cls: topic for topic, cls in TOPICS.items()}


class ReadOnlyVersion(NamedTuple):
    """A version of an event that is read and not written.

    Attributes:
        shape: What it is stored as: a struct with ``at``, and ``lookup`` if it holds people.
        event: What it is today.
        upcast: Makes the *event* of a decoded *shape*.  Pure, and never raises: what
            happened, happened.
    """

    shape: type[msgspec.Struct]
    event: type[AnyEvent]
    upcast: Callable[[Any], AnyEvent]


#: Versions that are not written: any more, or, for one release, yet (CONTRIBUTING.md).
ALSO_READ: Mapping[str, ReadOnlyVersion] = {}

#: Value that stands for a sealed one whose key is destroyed, by its kind.
ERASED: Mapping[str, Mapping[str, Any]] = {
    "person": {"full_name": ""},
    "ranked": {"title": "", "family": "brand", "level": "manager", "score": 0.0},
    "opinion": {"family": "other", "level": "unknown"},
    "candidate": {"full_name": ""},
    "checked": {"mail_domain": "", "verdict": "unknown"},
    "bounced": {"address": ""},
    "facts": {"facts": {}},
    "contact": {
        "full_name": None,
        "first_name": None,
        "last_name": None,
        "title": None,
        "headline": None,
        "company": None,
        "email": None,
        "email_status": "not_found",
        "email_source": None,
        "linkedin_url": None,
    },
}


def is_erased(value: Mapping[str, Any]) -> bool:
    """Return whether the personal *value*, in plain, is an erased form and says nothing."""
    erased = ERASED[value["personal"]]
    for name, said in value.items():
        if name in {"personal", "person"}:
            continue
        is_blank = said == erased[name] if name in erased else not said
        if not is_blank:
            return False
    return True


class UnknownEvent(Exception):
    """A topic this version cannot read: it was written by a newer one."""


def topic_of(event: AnyEvent) -> str:
    """Return the topic that *event* is written under."""
    return _TOPIC_OF[type(event)]


def event_of(topic: str) -> type[AnyEvent] | None:
    """Return what is read of *topic*; ``None``: a newer version wrote it."""
    other = ALSO_READ.get(topic)
    return TOPICS.get(topic) if other is None else other.event


def shapes() -> dict[str, type[msgspec.Struct]]:
    """Return what is stored under each topic that is read."""
    return {**TOPICS, **{topic: other.shape for topic, other in ALSO_READ.items()}}


def every_version(event: type[AnyEvent]) -> str:
    """Return what the topics of all versions of *event* begin with, also of those to come.

    For readers that look for stored events without decoding them.

    >>> every_version(key.KeyIssued)
    'key.issued.v'
    """
    return _TOPIC_OF[event].rpartition(".v")[0] + ".v"


def encode(event: AnyEvent) -> bytes:
    """Return *event* in JSON: what `to_plain` gives, without the values in between."""
    return _ENCODER.encode(event)


def decode(topic: str, state: bytes) -> AnyEvent:
    """Return the event in the JSON text *state*, upcast to the shape of today.

    Raises:
        UnknownEvent: No version of ours wrote this topic.
        msgspec.MsgspecError: It is no JSON, or its values do not fit the topic's shape.
    """
    return _upcast(topic, _decoder(_shape(topic)).decode(state))


def to_plain(event: AnyEvent) -> dict[str, Any]:
    """Return *event* as JSON-compatible values."""
    plain = msgspec.to_builtins(event)
    assert isinstance(plain, dict)
    return plain


def from_plain(topic: str, plain: Mapping[str, Any]) -> AnyEvent:
    """Return the event in *plain*, upcast to the shape of today.

    Raises:
        UnknownEvent: No version of ours wrote this topic.
        msgspec.ValidationError: The values do not fit the topic's shape.
    """
    return _upcast(topic, msgspec.convert(plain, _shape(topic)))


_ENCODER = msgspec.json.Encoder()


@cache
def _decoder(shape: type[msgspec.Struct]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(shape)


def _shape(topic: str) -> type[msgspec.Struct]:
    other = ALSO_READ.get(topic)
    shape = TOPICS.get(topic) if other is None else other.shape
    if shape is None:
        raise UnknownEvent(
            f"event topic {topic!r} is not known to this version; it needs a newer one"
        )
    return shape


def _upcast(topic: str, stored: Any) -> AnyEvent:
    other = ALSO_READ.get(topic)
    event: AnyEvent = stored if other is None else other.upcast(stored)
    return event
