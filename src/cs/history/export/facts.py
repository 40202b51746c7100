"""What each event says, as rows of facts (`cs.history.export.fact_columns`).

What is sealed about a person is opened in memory.  Unless people are revealed, only what is
not personal is written: which sources named them, and what became of their mailboxes at which
mail domain.
"""

from collections.abc import Mapping
from typing import Any, assert_never

from cs.domain.brand import events as brand
from cs.domain.causation import (
    AnyCause,
    EventCause,
    MessageCause,
    OperatorCause,
    RequestCause,
    StartCause,
    TimerCause,
)
from cs.domain.codec import AnyEvent
from cs.domain.stages.table import STAGES
from cs.domain.stages.work import StageName
from cs.eventlog.stored_cause import cause_in
from cs.history.export import key_facts, lookup_facts, mail_facts
from cs.history.export.fact_rows import FactRows, Says
from cs.history.export.lookup_facts import costs
from cs.history.export.reading import OpenPage, ReadEvent
from cs.history.history import damaged
from cs.history.opening import DAMAGED

#: Events that say more than that they happened.
_SAYS: Mapping[type[AnyEvent], Says] = {
    **key_facts.SAYS,
    **lookup_facts.SAYS,
    **mail_facts.SAYS,
}
#: What ends the work of which stage, and where its mail domain stands.
_ENDS: Mapping[type[Any], tuple[StageName, str | None]] = {
    row.closed_by: (row.name, row.item) for row in STAGES.values()
}

#: Of those, the ones that say what the attempt cost.
_WITH_COSTS = {
    brand.BrandResolved,
    brand.ContactsDiscovered,
    brand.ContactsRanked,
    brand.MailDomainChecked,
}


def add_page(to: FactRows, page: OpenPage) -> None:
    """Add what the events of *page* say.

    Raises:
        DamagedEvent: What is sealed in one of them cannot be read.
    """
    for read in page.events:
        try:
            _add(to, page, read)
        except DAMAGED as error:
            raise damaged(read.event, error) from error


def _add(to: FactRows, page: OpenPage, read: ReadEvent) -> None:
    event = read.event
    to.rows["event"].append(
        (
            event.position,
            event.stream,
            event.version,
            event.topic,
            event.at,
            event.lookup,
            *_named_by(cause_in(event.state)),
        )
    )
    ends = _ENDS.get(read.kind)
    if ends is not None:
        stage, item = ends
        mail_domain = None if item is None else getattr(read.said, item)
        to.rows["answered"].append((event.position, event.at, event.lookup, stage, mail_domain))
        if read.kind in _WITH_COSTS:
            costs(to, read, stage, mail_domain)
    says = _SAYS.get(read.kind)
    if says is not None:
        says(to, page, read)


def _named_by(cause: AnyCause | None) -> tuple[Any, ...]:
    """Return the kind of *cause* and what it names, in the order of the columns."""
    match cause:
        case RequestCause(id=request):
            return "request", request, *[None] * 6
        case MessageCause(id=message, attempt=attempt):
            return "message", None, message, attempt, *[None] * 4
        case TimerCause(timer=timer):
            return "timer", None, None, None, timer, None, None, None
        case OperatorCause(command=command, who=operator):
            return "operator", None, None, None, None, command, operator, None
        case EventCause(position=position):
            return "event", *[None] * 6, position
        case StartCause():
            return "start", *[None] * 7
        case None:
            return (None,) * 8
        case _:
            assert_never(cause)
