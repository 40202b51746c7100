"""Spans of a lookup's trace: from the call that started it to the last settlement.

Off unless the operator names a place for them (setting ``traces_to``); then
`cs.assembly.otel_traces` sends them.  A place in a trace is written as W3C Trace Context has it
(``traceparent``), as the headers of messages do: the trace of a lookup and the place of each
message are made from their names (`cs.bus.headers`), so that no process asks another.

Attributes hold ids, stages, outcomes and counts: nothing of a person, no brand, no domain.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Literal, Protocol, TypeAlias

Kind: TypeAlias = Literal["server", "producer", "consumer", "client", "internal"]
Value: TypeAlias = str | int | bool


class Span(Protocol):
    def note(self, **attributes: Value) -> None:
        """Add *attributes*."""


class Traces(Protocol):
    """Where spans go."""

    def span(
        self,
        name: str,
        kind: Kind = "internal",
        *,
        within: str | None = None,
        place: str | None = None,
        **attributes: Value,
    ) -> AbstractContextManager[Span]:
        """Return a span for what is done inside; what is raised there marks it as failed.

        Args:
            name: What is done, one of a few.
            kind: As OpenTelemetry has it.
            within: The place of its parent; ``None``: the span around it.
            place: Its own place; ``None``: a new one within its parent's trace.
            attributes: Of it.
        """

    def past_call(
        self, name: str, *, within: str | None, place: str | None, took_s: float, status: int
    ) -> None:
        """Note a call of the API that has just ended; its place is known only then.

        Args:
            name: Method and route.
            within: As in `span`; ``None``: it begins its trace.
            place: As in `span`.
            took_s: From its head to its answer.
            status: Of the answer.
        """


class _NoSpan:
    def note(self, **attributes: Value) -> None:
        pass


class NoTraces:
    """Drops all spans."""

    _span = nullcontext(_NoSpan())

    def span(
        self,
        name: str,  # noqa: ARG002
        kind: Kind = "internal",  # noqa: ARG002
        *,
        within: str | None = None,  # noqa: ARG002
        place: str | None = None,  # noqa: ARG002
        **attributes: Value,  # noqa: ARG002
    ) -> AbstractContextManager[Span]:
        return self._span

    def past_call(
        self, name: str, *, within: str | None, place: str | None, took_s: float, status: int
    ) -> None:
        pass


NO_TRACES = NoTraces()
