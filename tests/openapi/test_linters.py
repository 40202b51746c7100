"""Spectral and Redocly find nothing to say of the description."""

from pathlib import Path

import pytest

from openapi.node_tools import DEV, DOCUMENT, run_tool

pytestmark = pytest.mark.slow

LINTERS = {
    "spectral": ("lint", "--fail-severity=hint", "--ruleset", DEV / "node" / "spectral.yaml"),
    "redocly": ("lint", "--config", DEV / "node" / "redocly.yaml"),
}


@pytest.mark.parametrize("linter", LINTERS)
def test_the_description_is_clean(linter: str, tmp_path: Path) -> None:
    run_tool(linter, *LINTERS[linter], DOCUMENT, folder=tmp_path)
