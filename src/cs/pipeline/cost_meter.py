"""Costs of each source and verifier in one attempt of a stage, counted while it works.

The runner opens a meter around a stage's work and puts what it shows into the finding, also
into that of an attempt whose time was up.  A stage says what it asks (`asking`) and what came
of it (`note_found`); where no meter is open, in a command that asks by itself, it is
not read.
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec.structs import replace

from cs.domain.source_cost import SourceCost
from cs.paid_calls.current_work import ServiceCalls, count_spent


class CostMeter:
    """The costs of one attempt, by source or verifier."""

    def __init__(self) -> None:
        self._costs: dict[str, SourceCost] = {}

    def costs(self) -> tuple[SourceCost, ...]:
        """Return a row for each who may be asked, in the order of asking."""
        return tuple(self._costs.values())

    def begin(self, name: str, expected_micros: int | None = None) -> None:
        """Give *name* the next place in the order, if it has none."""
        row = SourceCost(name=name, expected_micros=expected_micros)
        self._costs.setdefault(name, row)

    def add(
        self,
        name: str,
        spent: Collection[ServiceCalls] = (),
        *,
        asked: int = 0,
        found: int = 0,
        used: int = 0,
    ) -> None:
        self.begin(name)
        row = self._costs[name]
        self._costs[name] = replace(
            row,
            asked=row.asked + asked,
            found=row.found + found,
            used=row.used + used,
            calls=row.calls + sum(each.calls for each in spent),
            micros=row.micros + sum(each.micros for each in spent),
        )


_METER: ContextVar[CostMeter] = ContextVar("cost_meter")


def _current() -> CostMeter:
    """Return the meter that is open, or one that nothing reads."""
    return _METER.get(CostMeter())


@contextmanager
def metered() -> Iterator[CostMeter]:
    """Yield a meter that counts what is asked within.

    A stage of another make that says nothing has its paid calls counted by service.
    """
    meter = CostMeter()
    token = _METER.set(meter)
    try:
        with count_spent() as by_service:
            try:
                yield meter
            finally:
                for service, calls in by_service.items():
                    meter.add(service, [calls])
    finally:
        _METER.reset(token)


@contextmanager
def asking(name: str) -> Iterator[None]:
    """Count what is done within as one question to *name*, with all calls made for it."""
    meter = _current()
    meter.add(name, asked=1)
    with count_spent() as by_service:
        try:
            yield
        finally:
            meter.add(name, by_service.values())


def note_order(names: Iterable[tuple[str, int | None]]) -> None:
    """Note what may be asked, in order, and what a verified e-mail from each may cost."""
    meter = _current()
    for name, expected_micros in names:
        meter.begin(name, expected_micros)


def note_found(name: str, *, asked: int = 0, found: int = 0, used: int = 0) -> None:
    """Add to what *name* gave, and to what is used of it.

    *asked* takes back a question (-1) to one that is not set up, and so was not asked.
    """
    _current().add(name, asked=asked, found=found, used=used)
