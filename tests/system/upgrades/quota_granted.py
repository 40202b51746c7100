"""A worked second version of an event: *quota granted* calls its units searches.

In two releases, readers first: one reads the second version and writes the first, the next
writes it and upcasts the first.  Neither exists but for tests; they show what a change of a
stored shape takes (CONTRIBUTING.md, "Adding an event shape").
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from cs.domain import codec, key
from cs.domain.codec import ReadOnlyVersion
from cs.domain.messages import Event
from system.upgrades.next_version import next_version

V1, V2 = "key.quota-granted.v1", "key.quota-granted.v2"

#: At the end of ``domain/codec.py`` of the release that reads it.
READS = f"""
from cs.domain.messages import Event

class _QuotaGrantedV2(Event, frozen=True, kw_only=True):
    searches: int
    by: str | None = None


ALSO_READ["{V2}"] = ReadOnlyVersion(
    _QuotaGrantedV2,
    key.QuotaGranted,
    lambda v2: key.QuotaGranted(units=v2.searches, by=v2.by, at=v2.at),
)
"""

#: At the end of ``domain/codec.py`` of the release that writes it.
WRITES = f"""
from cs.domain.messages import Event

class _QuotaGrantedV1(Event, frozen=True, kw_only=True):
    units: int
    by: str | None = None


ALSO_READ["{V1}"] = ReadOnlyVersion(
    _QuotaGrantedV1,
    key.QuotaGranted,
    lambda v1: key.QuotaGranted(searches=v1.units, by=v1.by, at=v1.at),
)
"""


def that_reads(folder: Path) -> Path:
    """Make the release that reads the second version in *folder*; return where it is."""
    return next_version(folder, {"domain/codec.py": READS})


def that_writes(folder: Path) -> Path:
    """Make the release that writes the second version in *folder*; return where it is."""
    source = next_version(folder, {"domain/codec.py": WRITES})
    _replaced(source, "domain/key.py", f'"{V1}": QuotaGranted,', f'"{V2}": QuotaGranted,')
    _replaced(
        source,
        "domain/key.py",
        "class QuotaGranted(Event, frozen=True, kw_only=True):\n    units: int",
        "class QuotaGranted(Event, frozen=True, kw_only=True):\n"
        "    @property\n"
        "    def units(self):  # whoever reads it need not change\n"
        "        return self.searches\n\n"
        "    searches: int",
    )
    _replaced(
        source,
        "domain/key.py",
        "return (QuotaGranted(units=units, ",
        "return (QuotaGranted(searches=units, ",
    )
    return source


def _replaced(source: Path, module: str, old: str, new: str) -> None:
    file = source / "cs" / module
    text = file.read_text()
    assert text.count(old) == 1, (module, old)
    file.write_text(text.replace(old, new))


# The same within this process.


class GrantedV1(Event, frozen=True, kw_only=True):
    units: int
    by: str | None = None


class GrantedV2(key.QuotaGranted, frozen=True, kw_only=True):
    """What the release that writes it knows; to this process, a grant."""

    searches: int


def upcast(v1: GrantedV1) -> GrantedV2:
    return GrantedV2(units=v1.units, searches=v1.units, by=v1.by, at=v1.at)


@contextmanager
def with_version(
    event: type[Any], written: str, read: str, shape: type[Any], cast_up: Callable[[Any], Any]
) -> Iterator[None]:
    """Write *event* as *written*, and read *read* too, until left: all of this process."""
    topics, topic_of = cast("dict[str, Any]", codec.TOPICS), cast("Any", codec._TOPIC_OF)
    others = cast("dict[str, Any]", codec.ALSO_READ)
    before = topics.pop(read), dict(topic_of)
    topics[written], topic_of[event] = event, written
    others[read] = ReadOnlyVersion(shape, event, cast_up)
    try:
        yield
    finally:
        del others[read], topics[written]
        topics[read] = before[0]
        topic_of.clear()
        topic_of.update(before[1])


def second_version() -> Any:
    """Be the release that writes the second version, until left."""
    return with_version(GrantedV2, V2, V1, GrantedV1, upcast)
