"""What a view of the console is, and what its handlers work with."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from cs.admin.health import Readiness
from cs.bus.dead_letters import DeadLetterBox
from cs.console.access import Access, Session
from cs.console.activity import Activity
from cs.domain.console_operator import OperatorRole
from cs.eventlog.port import EventLog, RecordedEvent, SealedEvent, Where
from cs.eventlog.streams import Streams
from cs.history.history import History, opened, pass_over
from cs.history.newest import newest
from cs.history.pages import Page, Section
from cs.history.service_state import RecentEnds, ServiceState, read_ends, read_now
from cs.keystore.port import KeyStore
from cs.operations.operator import Operator
from cs.paid_calls.budgets import Spending
from cs.projections.reading import Reading
from cs.projections.views import Views
from cs.runtime.clock import Clock
from cs.runtime.shared import Shared
from cs.runtime.slow_work import SlowWork

#: Rows of one table; further ones are on the next page.
ROWS = 50
#: Stands for what is not made yet.
NOT_READY = Section(
    heading="Not ready yet",
    about="It takes 5 minutes at most once its turn comes; this page reloads until then.",
)
#: How long something that was read for one page is shown on others: many may look at once.
#: How recent runs ended takes longer to read, so an older one is shown while it is read again.
FRESH_S, ENDS_FRESH_S = 2.0, 30.0


class CachedState:
    """The state of the service, which all pages read together."""

    def __init__(self) -> None:
        self._now = Shared[ServiceState](FRESH_S)
        self._ends = Shared[RecentEnds](ENDS_FRESH_S, may_be_old=True)

    async def get(self, parts: "Parts") -> ServiceState:
        """Return the state as it was at most `FRESH_S` ago.

        Raises:
            LogUnavailable: It cannot be read now.
        """
        now = await self._now.get(
            lambda: read_now(parts.log, parts.views, parts.streams, parts.clock)
        )
        return now.with_ends(await self._ends.get(lambda: read_ends(parts.log, parts.keys)))

    def forget(self) -> None:
        """Have the next call read it again: an operator has changed something."""
        self._now.forget()


class Parts(msgspec.Struct, frozen=True):
    """The stores and figures that views are made of."""

    access: Access
    log: EventLog
    keys: KeyStore
    views: Views
    reading: Reading
    streams: Streams
    clock: Clock
    ready: Readiness
    activity: Activity
    #: Reports, comparisons, checks and requests of people (`cs.assembly.work_aside`).
    slow: SlowWork
    #: Paid services, of each the caps of a day and a month in US dollars; else why not.
    spending: Callable[[], Awaitable[Sequence[tuple[Spending, float, float]] | str]]
    #: ``None``: this process reads none.
    dead_letters: DeadLetterBox | None
    state: CachedState = msgspec.field(default_factory=CachedState)

    @property
    def history(self) -> History:
        return History(self.log)

    async def newest(
        self, where: Where, before: int | None, **more: Any
    ) -> tuple[Sequence[SealedEvent], int | None]:
        """Return a page of events of *where*; see `cs.history.newest`."""
        return await newest(self.log, self.streams, where, before, most=ROWS, **more)

    async def opened(self, found: Sequence[SealedEvent]) -> Sequence[RecordedEvent]:
        """Return *found* without those that cannot be read."""
        return await opened(self.keys, found, pass_over)

    def operator(self, session: Session) -> Operator:
        """Return the commands of the operator who is signed in."""
        return Operator(self.streams, self.clock, session.name)


class Input(msgspec.Struct, frozen=True):
    """A field of a form: of a filter or of an action."""

    name: str
    label: str = ""  # if empty: its name
    value: str | None = None
    options: Sequence[str] = ()  # a choice among these; else free text
    labels: Mapping[str, str] = {}  # of options, where they differ
    required: bool = False


#: What is stored about a disclosure: who asked to see people in clear, and why.
REASON = Input("why", "Reason", required=True)


class Action(msgspec.Struct, frozen=True):
    """Something that an operator can do, as a form that asks once.

    Attributes:
        name: By it `console.html` says what it does, and whether it can be undone.
        to: Where its form is sent.
        role: Who may.
    """

    name: str
    to: str
    role: OperatorRole = "operator"
    inputs: Sequence[Input] = ()


class View(Page, frozen=True, kw_only=True):
    """A page of the console.

    Attributes:
        command: The command that prints the same.
        filters: Of a form that reads the page again.
        place: The parameter that says where the rows of a page begin; *older*: its value for
            the next page, ``None`` if there is none.
        live: Whether it is read again while it is looked at.
        plots: By title: the values of each series by its name, at the same `times`, in seconds.
        slider: The position that is shown, and the first and last that may be.
    """

    command: str
    filters: Sequence[Input] = ()
    actions: Sequence[Action] = ()
    place: str = "before"
    older: int | str | None = None
    live: bool = False
    spans: Sequence[tuple[str, str, bool]] = ()  # name, address, and whether it is chosen
    plots: Mapping[str, Mapping[str, Sequence[float | None]]] = {}
    times: Sequence[float] = ()
    slider: tuple[int, int, int] | None = None


class Secret(str):
    """A sentence with a secret: shown, and not kept for a form that is sent again."""

    __slots__ = ()


#: Makes a view for a call.
Handler = Callable[[Parts, Request, Session], Awaitable[View]]
#: The fields of a form.
Form = Mapping[str, str]
#: Does what an action says; returns a sentence about it, or what is shown once.
Act = Callable[[Parts, Request, Session, Form], Awaitable[str | View | Response]]
