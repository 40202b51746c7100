"""Within ``v1`` messages only grow."""

import json
from pathlib import Path
from typing import Any

import pytest

from bus.asyncapi.asyncapi_document import described
from bus.asyncapi.document_changes import broken

#: The document as it was released; a new release adds its own, `-v1.1`, and keeps this one.
RELEASED = sorted((Path(__file__).parent / "golden").glob("asyncapi-v1*.json"))

Document = dict[str, Any]


@pytest.mark.parametrize("released", RELEASED, ids=lambda path: str(path.stem))
def test_nothing_that_was_released_is_broken(released: Path) -> None:
    old, new = json.loads(released.read_bytes()), json.loads(described())
    if old["info"]["version"] == "1.0.0":
        new = without_limits(new)

    assert broken(old, new) == []
    del new["channels"]["ranking"]
    assert [str(each) for each in broken(old, new)] == ["ranking: the channel is gone"]


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
