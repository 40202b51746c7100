"""Shapes of events that the version before may have to read."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from cs.domain import codec


def shapes(shape: Any) -> Iterator[dict[str, Any]]:
    """Yield the JSON schema of every struct that *shape* is made of."""
    _, parts = msgspec.json.schema_components([shape])
    yield from parts.values()


@pytest.mark.parametrize("topic", sorted(codec.shapes()))
def test_no_struct_within_an_event_forbids_a_field_it_does_not_know(topic: str) -> None:
    for part in shapes(codec.shapes()[topic]):
        assert part.get("additionalProperties") is not False, part.get("title")
