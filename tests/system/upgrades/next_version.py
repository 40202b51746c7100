"""The next version of the service: a copy with one event and one version of a view more."""

from collections.abc import Mapping
from pathlib import Path
from shutil import copytree, ignore_patterns

import cs

#: What is written at the end of each module.
ADDED = {
    "domain/key.py": '''

class Lent(Event, frozen=True, kw_only=True):
    """Quota for a while; the version before knows no such thing."""

    units: int


_evolve = evolve


def evolve(state, event):
    if isinstance(event, Lent):
        return replace(state, quota=state.quota + event.units, last_at=event.at)
    return _evolve(state, event)
''',
    "domain/codec.py": """

TOPICS["key.lent.v1"] = key.Lent
_TOPIC_OF[key.Lent] = "key.lent.v1"
""",
    "eventlog/categories.py": """

CATEGORIES["key"] = msgspec.structs.replace(CATEGORIES["key"], rules=2)
""",
    "projections/usage.py": """

from cs.domain.key import Lent

_apply = Usage.apply


def _apply_next(self, rows, recorded, seal):
    if not isinstance(recorded.event, Lent):
        return _apply(self, rows, recorded, seal)
    key_id = recorded.stream.removeprefix("key-")
    row = rows.get(USAGE, key_id)
    rows.put(USAGE, key_id, replace(row, quota=row.quota + recorded.event.units))


Usage.version += 1
Usage.reads |= {Lent}
Usage.apply = _apply_next
""",
}


def this_version() -> Path:
    """Return the folder that holds this version."""
    assert cs.__file__ is not None
    return Path(cs.__file__).parent.parent


def next_version(folder: Path, added: Mapping[str, str] = ADDED) -> Path:
    """Make the next version in *folder*; return the folder that holds it.

    Args:
        folder: Where there is nothing yet.
        added: What is written at the end of which module.
    """
    package = folder / "cs"
    copytree(this_version() / "cs", package, ignore=ignore_patterns("__pycache__"))
    for module, lines in added.items():
        with (package / module).open("a") as file:
            file.write(lines)
    return folder
