"""An event with a field that a newer version added is read by the version before it."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from cs.domain import codec
from cs.domain.codec import from_plain
from domain.golden_files import NAMES, golden
from harness.every_row import check_every


def test_an_event_with_a_field_of_a_newer_version_is_read_without_it() -> None:
    def check(name: str) -> None:
        topic, state = golden(name)
        newer = {**state, "of_a_newer_version": [1]}

        assert from_plain(topic, newer) == from_plain(topic, state)

    check_every(NAMES, check)


def shapes(shape: Any) -> Iterator[dict[str, Any]]:
    """Yield the JSON schema of every struct that *shape* is made of."""
    _, parts = msgspec.json.schema_components([shape])
    yield from parts.values()


@pytest.mark.parametrize("topic", sorted(codec.shapes()))
def test_no_struct_within_an_event_forbids_a_field_it_does_not_know(topic: str) -> None:
    for part in shapes(codec.shapes()[topic]):
        assert part.get("additionalProperties") is not False, part.get("title")
