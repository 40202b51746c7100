"""Points between two steps at which a sandbox service can be made to die.

``CS_FAILPOINTS="relay.after-publish=kill@3"`` kills the process with SIGKILL the third
time it comes to that point, after the line ``failpoint relay.after-publish hit`` on
standard error.  ``=fail@3`` raises `FailPointReached` there instead, as a bug would.  Several
are separated by commas; ``@1`` may be left out.

Only `cs serve --sandbox` arms them, and a live service refuses to start with the
variable set.  Everywhere else `reach` is an empty function.
"""

import os
import re
import signal
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

VARIABLE = "CS_FAILPOINTS"

#: Every point, and what has just happened or comes next.
POINTS = {
    "admission.before-append": "decided, nothing stored",
    "admission.after-append": "the search is stored, its caller not answered",
    "change.before-append": "a change of one stream is decided, nothing stored",
    "change.after-append": "a change of one stream is stored, the caller does not know",
    "log.before-write": "a batch of appends is taken from the queue",
    "log.before-commit": "the batch is written, its transaction open",
    "log.after-commit": "the batch is durable, no caller knows",
    "log.before-answer": "the batch is durable, the event loop knows, its callers do not",
    "relay.before-publish": "issued work was read from the log",
    "relay.after-publish": "work is on its topic",
    "stage.before-work": "a stage has taken work in hand",
    "stage.before-progress": "a stage found something on the way",
    "stage.after-progress": "progress is on the topic of outcomes",
    "stage.before-result": "a stage is done, its result not published",
    "stage.after-result": "the result is published, the work not committed",
    "stage.after-commit": "the work is committed",
    "outcome.before-append": "an outcome was received",
    "outcome.after-append": "what follows from an outcome is stored, the record not committed",
    "outcome.after-commit": "the outcome's record is committed",
    "timer.before-deadline": "a timer is due",
    "timer.before-retry": "the deadline was looked at, the retry was not",
    "timer.after-retry": "the work that was put off is issued again",
    "sweep.before-restart": "a start found a lookup that was running",
    "sweep.after-restart": "the work of a running lookup is issued again",
    "sweep.before-settlement": "a start found searches whose lookup has ended",
    "settlement.before-append": "a lookup has ended, this search of it is not settled",
    "settlement.after-append": "the search is settled and charged",
    "learning.before-append": "a mail domain was checked, what was learned is not stored",
    "learning.after-append": "what was learned about a mail domain is stored",
    "projection.before-apply": "a page of events was read, the views do not show it",
    "projection.after-commit": "the views show it, held calls are not woken",
    "projection.after-wake": "held calls are woken",
}

Reach = Callable[[str], None]

_FORM = re.compile(r"(?P<point>[a-z.-]+)=(?P<act>kill|fail)(@(?P<time>[1-9][0-9]{0,5}))?")


class FailPointReached(Exception):
    """Raised at a point that is armed to fail."""


class Visit(NamedTuple):
    """At which visit to a point what is done."""

    number: int
    act: str  # kill | fail


class BadFailPoint(Exception):
    """The text names no point, or says nothing that can be done there."""


def _nothing(point: str) -> None:
    """Do nothing: a service that is not armed."""


#: Called at every point, as ``failpoints.reach("name")`` so that arming is seen.
reach: Reach = _nothing


def arm(text: str) -> None:
    """Make `reach` act as *text* says.

    Raises:
        BadFailPoint: Naming what is wrong and what is allowed.
    """
    global reach  # noqa: PLW0603  one switch for the process, thrown once at its start
    reach = deadly(parse(text))


def parse(text: str) -> dict[str, Visit]:
    """Return at which visit to which point the process dies or fails.

    >>> parse("relay.after-publish=kill@3")
    {'relay.after-publish': Visit(number=3, act='kill')}

    Raises:
        BadFailPoint: Naming what is wrong and what is allowed.
    """
    visits: dict[str, Visit] = {}
    for part in text.split(","):
        found = _FORM.fullmatch(part.strip())
        if found is None:
            raise BadFailPoint(f"{part.strip()!r} is not like relay.after-publish=kill@3")
        if found["point"] not in POINTS:
            known = ", ".join(POINTS)
            raise BadFailPoint(f"there is no point {found['point']!r}; there are {known}")
        visits[found["point"]] = Visit(int(found["time"] or 1), found["act"])
    return visits


def deadly(visits: dict[str, Visit]) -> Reach:
    """Return what kills or fails at the visits of *visits*; any thread may call it."""
    counters = {point: count(1) for point in visits}

    def reached(point: str) -> None:
        counter = counters.get(point)
        if counter is not None and next(counter) == visits[point].number:
            os.write(2, f"failpoint {point} hit\n".encode())
            if visits[point].act == "fail":
                raise FailPointReached(point)
            os.kill(os.getpid(), signal.SIGKILL)

    return reached
