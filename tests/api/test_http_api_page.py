"""The page for callers says what the description says."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from api.openapi_document import DOCUMENT, answer_schema
from cs.api.errors import STATUS
from cs.domain.admission import LOOKUPS_RETRY_AFTER

PAGE = (Path(__file__).parents[2] / "docs" / "http-api.md").read_text()
SCHEMAS = DOCUMENT["components"]["schemas"]
BLOCKS = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]


@pytest.mark.parametrize(("code", "status"), STATUS.items())
def test_every_code_has_a_row_with_its_status(code: str, status: int) -> None:
    assert f"| {status} | `{code}` |" in PAGE


@pytest.mark.parametrize("reason", SCHEMAS["Reason"]["enum"])
def test_every_reason_has_a_row(reason: str) -> None:
    assert f"| `{reason}` |" in PAGE


def test_every_header_of_keyed_answers_is_named() -> None:
    of_the_document = {"Access-Control-Allow-Origin"}
    missing = [name for name in DOCUMENT["components"]["headers"] if f"`{name}" not in PAGE]

    assert set(missing) == of_the_document
    assert "`Idempotency-Key`" in PAGE


@pytest.mark.parametrize("block", BLOCKS)
def test_every_answer_shown_is_as_described(block: Any) -> None:
    name = "Error" if "error" in block else "Search"

    assert answer_schema({"$ref": f"#/components/schemas/{name}"}).is_valid(block)


def test_both_meanings_of_at_capacity_are_reported_by_how_long_to_wait() -> None:
    soon = str(int(LOOKUPS_RETRY_AFTER.total_seconds()))
    (row,) = re.findall(r"^\| 503 \| `at_capacity` .*$", PAGE, re.MULTILINE)
    described = DOCUMENT["components"]["responses"]["Unavailable"]["description"]

    assert f"`Retry-After: {soon}`" in row
    assert f"`Retry-After` is {soon}" in described
    for each in (row, described):
        assert "24 hours" in each
        assert "Branch on `Retry-After`" in each
