"""One stored file of every event shape ever written; added to, never edited.

``<topic>.json``, or ``<topic>+<variant>.json`` for a further one of the same topic: the
topic and the state as it is stored, personal values in clear.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from cs.domain.codec import AnyEvent, from_plain

FOLDER = Path(__file__).parent / "golden"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


class Golden(NamedTuple):
    topic: str
    state: dict[str, Any]


def golden(name: str) -> Golden:
    stored = json.loads((FOLDER / f"{name}.json").read_text())
    return Golden(stored["topic"], stored["state"])


def golden_event(name: str) -> AnyEvent:
    return from_plain(*golden(name))


def golden_events(category: str) -> list[AnyEvent]:
    """Return the golden events of *category* ("brand", "key", ...), in order of their time."""
    events = [golden_event(name) for name in NAMES if name.startswith(f"{category}.")]
    return sorted(events, key=lambda event: event.at)
