"""Which events of the log an analyst wants."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from cs.domain.brand.brand import brand_stream, stream_of
from cs.domain.codec import shapes
from cs.domain.disclosure import DisclosedEvents, EventSelection
from cs.eventlog.categories import CATEGORIES
from cs.eventlog.port import EVERYTHING, Where


class BadSelection(ValueError):
    """There is nothing of that kind in any log; the message says what there is."""


class Selection(EventSelection, frozen=True, kw_only=True):
    """A selection that can be made, of the log as this version knows it.

    Attributes:
        brands: Of any of the brands with these streams: their lookups, and what keys had to do
            with them (`cs.history.brands` finds them).
    """

    brands: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.topics()
        for category in self.categories:
            if category not in CATEGORIES:
                known = ", ".join(CATEGORIES)
                raise BadSelection(f"no category of streams is called {category!r}: {known}")

    @classmethod
    def of(cls, asked: DisclosedEvents) -> "Selection":
        """Return what a disclosure of *asked* is about, its people aside.

        Raises:
            BadSelection: A newer version had other types of events.
        """
        fields = msgspec.structs.asdict(asked)
        del fields["people"]
        return cls(**fields)

    def asked(self) -> DisclosedEvents:
        """Return this, as a disclosure of it says: people are in a brand's stream alone."""
        fields = msgspec.structs.asdict(self)
        brands = fields.pop("brands")
        fields["streams"] = (*self.streams, *brands)
        return DisclosedEvents(**fields)

    def topics(self) -> frozenset[str] | None:
        """Return the topics of `types`; ``None`` if they are all meant.

        Raises:
            BadSelection: One of them is the type of no event.
        """
        if not self.types:
            return None
        return frozenset(topic for said in self.types for topic in _topics(said))

    def where(self) -> Where:
        """Return what a store can tell of an event without reading what is in it."""
        streams = {*self.streams, *(f"key-{key}" for key in self.keys)}
        prefixes = {category_prefix(category) for category in self.categories}
        if self.mail_domain is not None:
            streams.add(f"mail-domain-{self.mail_domain}")
        if not streams and not prefixes and (meant := self._brand_streams()):
            streams |= meant
            prefixes.add("key-")
        if not streams and not prefixes:
            return Where(topics=self.topics())
        return Where(self.topics(), frozenset(streams), frozenset(prefixes))

    def _brand_streams(self) -> frozenset[str]:
        """Return the streams of the brands that are meant."""
        if self.lookup is not None:
            return frozenset({stream_of(self.lookup)})
        asked = () if self.query is None else (brand_stream(self.query),)
        return frozenset({*self.brands, *asked})

    @property
    def is_everything(self) -> bool:
        """Return whether it holds every event up to its last position."""
        return self.where() == EVERYTHING and self.since is None and self.after <= 0

    def is_between(self, at: datetime) -> bool:
        """Return whether *at* is in its period."""
        return (self.since is None or at >= self.since) and (
            self.until is None or at < self.until
        )

    def holds(self, stream: str, at: datetime, lookup: str | None) -> bool:
        """Return whether an event that `where` selects is meant.

        Args:
            stream: Its stream.
            at: When it happened.
            lookup: The lookup that it names, if it names one.
        """
        if not self.is_between(at):
            return False
        if self.lookup is not None:
            return lookup == self.lookup
        meant = self._brand_streams()
        if not meant or stream in meant:
            return True
        return lookup is not None and stream_of(lookup) in meant


def category_prefix(category: str) -> str:
    """Return what the streams of *category* begin with."""
    return "service" if category == "service" else f"{category}-"


def _topics(said: str) -> Iterable[str]:
    known = shapes()
    found = [
        topic
        for topic in known
        if said in {topic, topic.rpartition(".")[0], topic.split(".", 1)[1].rpartition(".")[0]}
    ]
    if not found:
        names = ", ".join(sorted({topic.rpartition(".")[0] for topic in known}))
        raise BadSelection(f"no event is of the type {said!r}; there are {names}")
    return found
