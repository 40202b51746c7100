"""What a stage is: one step of the pipeline, reachable only through its topic."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from cs.domain.stages.work import AnyFinding, StageName, Work

#: Sends progress; returns once it is on its way.
Report = Callable[[AnyFinding], Awaitable[None]]


class Stage(Protocol):
    """Work in, findings out.

    A stage never touches the event log; it sees nothing but its input.  It keeps no
    state between messages that an answer depends on, so any number of copies may run,
    and it may be given the same work twice.
    """

    @property
    def name(self) -> StageName:
        """Consumer group, topic, log field and metric label.  Never changes."""

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        """Do *work* and return its result, or `Failed`.

        Progress goes to *report* as it comes.  Cancelled when the work's own deadline
        passes.  Anything raised is a bug: it is logged and answered as such.
        """
