"""Within ``v1`` messages only grow, and what would break is found by its name."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bus.asyncapi.asyncapi_document import COMMITTED, described
from bus.asyncapi.document_changes import broken

#: The document as it was released; a new release adds its own, `-v1.1`, and keeps this one.
RELEASED = sorted((Path(__file__).parent / "golden").glob("asyncapi-v1*.json"))

Document = dict[str, Any]
Change = Callable[[Document], object]


def breakages(change: Change) -> list[str]:
    """Return what the differ finds *change* to break in the document of this version."""
    old: Document = json.loads(COMMITTED.read_bytes())
    new = copy.deepcopy(old)
    change(new)
    return [str(each) for each in broken(old, new)]


@pytest.mark.parametrize("released", RELEASED, ids=lambda path: str(path.stem))
def test_nothing_that_was_released_is_broken(released: Path) -> None:
    old, new = json.loads(released.read_bytes()), json.loads(described())
    if old["info"]["version"] == "1.0.0":
        new = without_limits(new)

    assert broken(old, new) == []


def without_limits(value: Any) -> Any:
    """Return *value* as it was before messages had limits, which is the one thing taken away.

    What they refuse was never meant, and ended whoever read it.
    """
    if isinstance(value, dict):
        return {
            name: without_limits(part)
            for name, part in value.items()
            if name not in LIMITS or isinstance(part, dict)  # a field of that name
        }
    return [without_limits(each) for each in value] if isinstance(value, list) else value


LIMITS = {
    "pattern",
    "minimum",
    "maximum",
    "maxLength",
    "maxItems",
    "maxProperties",
}


BREAKING: dict[str, Change] = {
    "ranking: the channel is gone": lambda d: d["channels"].pop("ranking"),
    "events: the address is now cs.events.v2": lambda d: d["channels"]["events"].update(
        address="cs.events.v2"
    ),
    "events: the message brand.resolved.v1 is gone": lambda d: d["channels"]["events"][
        "messages"
    ].pop("brand.resolved.v1"),
    "outcome: the key is another": lambda d: d["components"]["messages"]["outcome"]["bindings"][
        "kafka"
    ]["key"].update(description="The stage."),
    "outcome: the content type is now text/plain": lambda d: d["components"]["messages"][
        "outcome"
    ].update(contentType="text/plain"),
    "outcome header.deadline: the field is gone": lambda d: d["components"]["messages"][
        "outcome"
    ]["headers"]["properties"].pop("deadline"),
}


@pytest.mark.parametrize("named", BREAKING)
def test_what_breaks_is_found_by_its_name(named: str) -> None:
    assert named in breakages(BREAKING[named])
