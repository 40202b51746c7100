"""A batch of appends as the arguments of ``append_events`` (migration 0001)."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from cs.eventlog.table_log import PreparedAppend


class Batch(msgspec.Struct, frozen=True):
    """Columns, in the order of the arguments.  Requests, parts and streams count from 1."""

    streams: list[str] = msgspec.field(default_factory=list)  # each once
    part_request: list[int] = msgspec.field(default_factory=list)
    part_stream: list[int] = msgspec.field(default_factory=list)
    part_expected: list[int] = msgspec.field(default_factory=list)
    part_events: list[int] = msgspec.field(default_factory=list)
    starts_at: list[datetime | None] = msgspec.field(default_factory=list)
    starts_limit: list[int | None] = msgspec.field(default_factory=list)
    event_request: list[int] = msgspec.field(default_factory=list)
    event_stream: list[str] = msgspec.field(default_factory=list)
    event_version: list[int] = msgspec.field(default_factory=list)
    event_topic: list[str] = msgspec.field(default_factory=list)
    event_state: list[bytes] = msgspec.field(default_factory=list)

    def add(self, request: PreparedAppend, numbers: dict[str, int]) -> None:
        """Add *request*; *numbers* are those of the streams so far."""
        self.starts_at.append(None if request.ceiling is None else request.ceiling.at)
        self.starts_limit.append(None if request.ceiling is None else request.ceiling.limit)
        number = len(self.starts_at)
        for append in request.appends:
            if append.stream not in numbers:
                self.streams.append(append.stream)
                numbers[append.stream] = len(self.streams)
            self.part_request.append(number)
            self.part_stream.append(numbers[append.stream])
            self.part_expected.append(append.expected)
            self.part_events.append(len(append.events))
        for event in request.stored:
            self.event_request.append(number)
            self.event_stream.append(str(event.originator_id))
            self.event_version.append(event.originator_version)
            self.event_topic.append(event.topic)
            self.event_state.append(event.state)


def arguments(requests: Sequence[PreparedAppend]) -> tuple[object, ...]:
    """Return what ``append_events`` takes for *requests*."""
    batch = Batch()
    numbers: dict[str, int] = {}
    for request in requests:
        batch.add(request, numbers)
    return msgspec.structs.astuple(batch)
