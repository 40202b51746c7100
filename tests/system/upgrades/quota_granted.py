"""A worked second version of an event: *quota granted* calls its units searches.

The release that writes it and upcasts the first exists only for tests.  It shows what a change
of a stored shape takes (CONTRIBUTING.md, "Adding an event shape").
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from cs.domain import codec, key
from cs.domain.codec import ReadOnlyVersion
from cs.domain.messages import Event

V1, V2 = "key.quota-granted.v1", "key.quota-granted.v2"


class GrantedV1(Event, frozen=True, kw_only=True):
    units: int
    by: str | None = None


class GrantedV2(key.QuotaGranted, frozen=True, kw_only=True):
    """What the release that writes it knows; to this process, a grant."""

    searches: int


def upcast(v1: GrantedV1) -> GrantedV2:
    return GrantedV2(units=v1.units, searches=v1.units, by=v1.by, at=v1.at)


@contextmanager
def second_version() -> Iterator[None]:
    """Be the release that writes the second version, until left: all of this process."""
    topics, topic_of = cast("dict[str, Any]", codec.TOPICS), cast("Any", codec._TOPIC_OF)
    others = cast("dict[str, Any]", codec.ALSO_READ)
    before = topics.pop(V1), dict(topic_of)
    topics[V2], topic_of[GrantedV2] = GrantedV2, V2
    others[V1] = ReadOnlyVersion(GrantedV1, GrantedV2, upcast)
    try:
        yield
    finally:
        del others[V1], topics[V2]
        topics[V1] = before[0]
        topic_of.clear()
        topic_of.update(before[1])
