"""One event as one line of JSON, people left sealed: what exports are made of.

``{"position": 7, "stream": "key-…", "version": 2, "type": "key.search-settled.v1",
"at": "2026-03-01T12:00:00Z", "data": {…}}``, ``data`` as it is stored.  In place of a sealed
value stands who it is about, ``{"personal": "contact", "person": "<lookup>#p1"}``: the same
for everything that one lookup found out about that person.
"""

from typing import Any

import msgspec

from cs.eventlog.sealing import SEALED_WITH
from cs.history.history import HistoryEvent

_SEALED = b'"sealed"'


class EventLine(msgspec.Struct, frozen=True):
    position: int
    stream: str
    version: int
    type: str
    at: Any
    data: Any


_ENCODER = msgspec.json.Encoder()


def event_line(event: HistoryEvent) -> bytes:
    """Return *event* as a line of JSON, its end included."""
    data: Any = msgspec.Raw(event.state)
    if _SEALED in event.state:
        plain = event.data()
        plain.pop(SEALED_WITH, None)
        data = _without_boxes(plain, str(event.lookup))
    shown = EventLine(event.position, event.stream, event.version, event.topic, event.at, data)
    return _ENCODER.encode(shown) + b"\n"


def _without_boxes(value: Any, lookup: str) -> Any:
    """Return *value* with who it is about in place of each sealed value."""
    if isinstance(value, dict):
        if value.keys() == {"sealed", "person", "box"}:
            return {"personal": value["sealed"], "person": f"{lookup}#{value['person']}"}
        return {name: _without_boxes(inner, lookup) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_boxes(inner, lookup) for inner in value]
    return value
