"""The schema of worlds, and the document on them: both know every behaviour and field."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sandbox.small_world import searches_of

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "sandbox.md").read_text()
BUNDLED = json.loads((ROOT / "src" / "cs" / "sandbox" / "worlds" / "bundled.json").read_text())


@pytest.fixture(scope="module")
def schema() -> Any:
    command = [sys.executable, "-m", "cs.sandbox.schema"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def test_bundled_world_is_what_the_schema_says(schema: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)

    jsonschema.Draft202012Validator(schema).validate(BUNDLED)


def test_world_in_the_document_loads(tmp_path: Path) -> None:
    example = re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    file = tmp_path / "world.json"
    file.write_text(example[1])

    _, (acme,) = searches_of(file)

    assert acme.verified == ("zoe.ruiz@acme.test",)


def test_document_names_every_behaviour_failure_state_and_field(schema: Any) -> None:
    shapes = {name: shape["properties"] for name, shape in schema["$defs"].items()}
    mailboxes = shapes["WorldMailDomain"]["mailboxes"]["additionalProperties"]
    states = mailboxes if "enum" in mailboxes else schema["$defs"][mailboxes["$ref"][8:]]
    kinds = {
        *shapes["Behaviour"]["kind"]["enum"],
        *shapes["Failure"]["kind"]["enum"],
        *states["enum"],
    }
    described = ("World", "Brand", "Site", "Person", "IntendedResult", "WorldMailDomain")
    fields = {field for name in described for field in shapes[name]} - {"about"}

    assert {name for name in kinds if f"`{name}`" not in PAGE} == set()
    unnamed = {name for name in fields if f"`{name}`" not in PAGE and f'"{name}"' not in PAGE}
    assert unnamed == set()
    assert f"has {len(BUNDLED['brands'])} brands" in PAGE
