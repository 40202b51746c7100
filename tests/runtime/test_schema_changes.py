"""Each way sees what breaks for it, and only that."""

from typing import Any

import pytest

from cs.runtime.schema_changes import Compatibility, Versions, schema_changes

Schema = dict[str, Any]

DONE = {"type": "object", "properties": {"status": {"const": "done"}}}
QUEUED = {"type": "object", "properties": {"status": {"const": "queued"}}}


def found(old: Schema, new: Schema, way: Compatibility) -> list[str]:
    return [str(each) for each in schema_changes(Versions({}, {}), "it", old, new, way)]


@pytest.mark.parametrize(
    ("narrow", "wide", "narrower", "wider"),
    [
        (
            {"type": "string"},
            {"type": ["string", "null"]},
            "it: can no longer be null",
            "it: may be null now",
        ),
        (
            {"type": "integer"},
            {"type": "number"},
            "it: can no longer be number",
            "it: may be number now",
        ),
        ({"type": "string"}, {}, "it: can no longer be any", "it: may be any now"),
        (
            {"type": "string", "maxLength": 5},
            {"type": "string", "maxLength": 9},
            "it: is narrower: maxLength 5",
            "it: is wider: maxLength was 5",
        ),
        (
            {"type": "integer", "minimum": 2},
            {"type": "integer"},
            "it: is narrower: minimum 2",
            "it: is wider: minimum was 2",
        ),
        ({"enum": ["a"]}, {"enum": ["a", "b"]}, "it: can no longer be b", "it: may be b now"),
        (
            {"type": "array", "items": {"type": "string"}},
            {"type": "array"},
            "it[]: can no longer be any",
            "it[]: may be any now",
        ),
        (
            {"type": "object", "properties": {"a": {}}, "required": ["a"]},
            {"type": "object", "properties": {"a": {}}},
            "it.a: the field is required now",
            "it.a: the field may be missing now",
        ),
        (
            {"oneOf": [DONE], "discriminator": {"propertyName": "status"}},
            {"oneOf": [DONE, QUEUED], "discriminator": {"propertyName": "status"}},
            "it: the tag queued is gone",
            "it: the tag queued is new",
        ),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}], "maxLength": 5},
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "it: is narrower: maxLength 5",
            "it: is wider: maxLength was 5",
        ),
        (
            {"type": "object", "anyOf": [{"required": ["a"]}]},
            {"type": "object"},
            "it: is narrower: anyOf [{'required': ['a']}]",
            "it: is wider: anyOf was [{'required': ['a']}]",
        ),
    ],
)
def test_narrowing_breaks_writers_and_widening_breaks_readers(
    narrow: Schema, wide: Schema, narrower: str, wider: str
) -> None:
    assert set(found(wide, narrow, Compatibility.BACKWARD)) == {narrower}
    assert set(found(narrow, wide, Compatibility.FORWARD)) == {wider}
    assert found(narrow, wide, Compatibility.BACKWARD) == []


@pytest.mark.parametrize("way", Compatibility)
def test_what_is_gone_breaks_both(way: Compatibility) -> None:
    field = {"type": "object", "properties": {"a": {}}}
    tags = {"oneOf": [DONE, QUEUED], "discriminator": {"propertyName": "status"}}

    assert found(field, {"type": "object"}, way) == ["it.a: the field is gone"]
    assert found(tags, tags | {"oneOf": [DONE]}, way) == ["it: the tag queued is gone"]
