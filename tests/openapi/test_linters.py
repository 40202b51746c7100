"""Spectral and Redocly find nothing to say of the description, and would if there were."""

import json
from pathlib import Path
from typing import Any

import pytest

from openapi.node_tools import DEV, DOCUMENT, Found, run_tool

pytestmark = pytest.mark.slow

LINTERS = {
    "spectral": ("lint", "--fail-severity=hint", "--ruleset", DEV / "node" / "spectral.yaml"),
    "redocly": ("lint", "--config", DEV / "node" / "redocly.yaml"),
}


@pytest.mark.parametrize("linter", LINTERS)
def test_the_description_is_clean(linter: str, tmp_path: Path) -> None:
    run_tool(linter, *LINTERS[linter], DOCUMENT, folder=tmp_path)


@pytest.mark.parametrize("linter", LINTERS)
def test_an_operation_named_twice_is_found(linter: str, tmp_path: Path) -> None:
    planted: dict[str, Any] = json.loads(DOCUMENT.read_bytes())
    planted["paths"]["/usage"]["get"]["operationId"] = "getSearch"

    assert "operationId" in _found(linter, planted, tmp_path)


@pytest.mark.parametrize("linter", LINTERS)
def test_an_example_that_is_not_as_described_is_found(linter: str, tmp_path: Path) -> None:
    planted: dict[str, Any] = json.loads(DOCUMENT.read_bytes())
    planted["components"]["examples"]["running"]["value"]["retry_after"] = "soon"

    assert "retry_after" in _found(linter, planted, tmp_path)


@pytest.mark.parametrize("linter", LINTERS)
def test_an_unused_component_is_no_mere_warning(linter: str, tmp_path: Path) -> None:
    planted: dict[str, Any] = json.loads(DOCUMENT.read_bytes())
    planted["components"]["schemas"]["Forgotten"] = {"type": "string"}

    assert "Forgotten" in _found(linter, planted, tmp_path)


def _found(linter: str, planted: dict[str, Any], folder: Path) -> str:
    """Return what *linter* says of the document *planted*."""
    (folder / "openapi.json").write_text(json.dumps(planted, indent=2))
    with pytest.raises(Found) as found:
        run_tool(linter, *LINTERS[linter], "openapi.json", folder=folder)
    return str(found.value)
