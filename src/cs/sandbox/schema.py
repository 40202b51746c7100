"""The JSON schema of a world file, made from its shapes, and what it allows where.

``python -m cs.sandbox.schema`` writes it out; the copy beside this module is for
editors and for people, and a test keeps the two alike.
"""

import difflib
import json
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from cs.sandbox.shapes import World

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")


def world_schema() -> dict[str, Any]:
    """Return the schema (JSON Schema 2020-12) of a world file."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "World",
        "description": "An outside world for the sandbox of contact search.",
    }
    return head | msgspec.json.schema(World)


def allowed(document: object, path: str, problem: str) -> str:
    """Return what may stand at *path* of *document*, as a sentence; "" if nothing is known.

    Args:
        document: The whole document, parsed.
        path: As msgspec writes it: ``$.brands[0].site.state``.
        problem: msgspec's message, which names an unknown field or a bad value.
    """
    schema = world_schema()
    node = _node(schema, document, path)
    if unknown := re.search(r"unknown field `(.*)`", problem):
        fields = [name for choice in node for name in choice.get("properties", ())]
        near = difflib.get_close_matches(unknown[1], fields, n=1)
        guess = f" (did you mean `{near[0]}`?)" if near else ""
        return f"Fields allowed here: {', '.join(dict.fromkeys(fields))}{guess}"
    if values := [str(value) for choice in node for value in choice.get("enum", ())]:
        return f"Allowed: {', '.join(values)}"
    if "missing required field" in problem:
        needed = [name for choice in node for name in choice.get("required", ())]
        return f"Required here: {', '.join(dict.fromkeys(needed))}"
    descriptions = [choice["description"] for choice in node if "description" in choice]
    return f"Allowed: {descriptions[0]}" if descriptions else ""


def _node(schema: Mapping[str, Any], document: object, path: str) -> list[dict[str, Any]]:
    """Return the schemas that may hold at *path*; several where a union is undecided."""
    choices = [*_choices(schema, {"$ref": schema["$ref"]}, document)]
    value = document
    for name, index in _STEP.findall(path.removeprefix("$")):
        value = _inside(value, name or index)
        inner = [_below(choice, name) for choice in choices]
        choices = [
            found
            for below in inner
            if below is not None
            for found in _choices(schema, below, value)
        ]
    return choices


def _choices(
    schema: Mapping[str, Any], node: dict[str, Any], value: object
) -> Iterator[dict[str, Any]]:
    """Follow references and unions; a ``kind`` that is known picks its struct."""
    if "$ref" in node:
        yield from _choices(schema, schema["$defs"][node["$ref"].rpartition("/")[2]], value)
    elif "anyOf" in node:
        mapping = node.get("discriminator", {}).get("mapping", {})
        kind = value.get("kind") if isinstance(value, dict) else None
        picked = [{"$ref": mapping[kind]}] if kind in mapping else node["anyOf"]
        for choice in picked:
            yield from _choices(schema, choice, value)
    else:
        yield node


def _below(node: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """Return the schema of field *name*, or of an item or a value if *name* is ``""``."""
    found = (
        node.get("properties", {}).get(name)
        if name
        else node.get("items", node.get("additionalProperties"))
    )
    return found if isinstance(found, dict) else None


def _inside(value: object, step: str) -> object:
    match value:
        case dict():
            return value.get(step)
        case list() if step.isdigit() and int(step) < len(value):
            return value[int(step)]
        case _:
            return None


def schema_text() -> str:
    return json.dumps(world_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
