"""The runs that have begun and not ended: as much of each as its figures need."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from cs.domain.contact import Person
from cs.runtime.lru import LruDict

#: Runs, with all of their people, that are remembered; the one unused for longest goes first.
OPEN_RUNS = 5_000


@dataclass(slots=True)
class OpenDomain:
    """People checked at one mail domain, by one run."""

    people: int = 0
    verified: int = 0
    catch_all: bool = False
    put_off: bool = False


@dataclass(slots=True)
class OpenRun:
    """A run that has not finished."""

    started_at: datetime | None = None
    began_at: dict[str, datetime] = field(default_factory=dict)  # by stage, here and below
    ended_at: dict[str, datetime] = field(default_factory=dict)
    open_items: dict[str, set[str]] = field(default_factory=dict)
    brand_sources: Mapping[str, str] = field(default_factory=dict)
    people_sources: Mapping[str, str] = field(default_factory=dict)
    seen_by: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ranked: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # why, of each
    verified: set[str] = field(default_factory=set)
    domains: dict[str, OpenDomain] = field(default_factory=dict)

    def see(self, people: Iterable[Person]) -> None:
        """Note by which sources each of *people* was found."""
        for person in people:
            self.seen_by[person.person] = tuple(dict.fromkeys(person.sources))

    def domain(self, mail_domain: str) -> OpenDomain:
        return self.domains.setdefault(mail_domain, OpenDomain())

    def issue(self, stage: str, item: str, at: datetime) -> None:
        self.began_at.setdefault(stage, at)
        self.open_items.setdefault(stage, set()).add(item)

    def end(self, stage: str, item: str, at: datetime) -> None:
        self.ended_at[stage] = at
        self.open_items.get(stage, set()).discard(item)


class OpenRuns:
    """The open runs, by lookup."""

    def __init__(self) -> None:
        self._runs = LruDict[str, OpenRun](OPEN_RUNS)

    def of(self, lookup: str) -> OpenRun:
        """Return the run of *lookup*, a new one if nothing of it was seen."""
        run = self._runs.use(lookup)
        if run is None:
            run = self._runs[lookup] = OpenRun()
        return run

    def end(self, lookup: str) -> OpenRun:
        """Return the run of *lookup*, which ends."""
        return self._runs.pop(lookup, None) or OpenRun()
