"""The JSON schema of a world file, for editors: ``python -m cs.sandbox.schema`` prints it."""

import json
import sys

import msgspec

from cs.sandbox.shapes import World


def schema_text() -> str:
    """Return the schema (JSON Schema 2020-12) of a world file."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "World",
        "description": "An outside world for the sandbox of contact search.",
    }
    schema = head | msgspec.json.schema(World)
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
