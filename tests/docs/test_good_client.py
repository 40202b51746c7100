"""The page on being a good client names everything that a client can be told."""

import re
from pathlib import Path

import pytest

from api.openapi_document import DOCUMENT
from cs.api.errors import STATUS
from cs.checks.port import CHECKS_PER_MINUTE
from cs.domain.admission import LOOKUPS_RETRY_AFTER

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "good-client.md").read_text()
REFERENCE = (DOCS / "http-api.md").read_text()
SCHEMAS = DOCUMENT["components"]["schemas"]


@pytest.mark.parametrize(("code", "status"), STATUS.items())
def test_every_code_says_whether_to_send_again(code: str, status: int) -> None:
    row = re.search(rf"^\| {status} `{code}` \| (yes|no) \| (.+) \|$", PAGE, re.MULTILINE)

    assert row is not None
    assert (row[1] == "yes") == (status >= 429)


def test_half_a_minute_at_capacity_is_told_from_hours() -> None:
    (row,) = re.findall(r"^\| 503 `at_capacity` .*$", PAGE, re.MULTILINE)

    assert f"{LOOKUPS_RETRY_AFTER.total_seconds():g} seconds" in row
    assert "hours" in row


@pytest.mark.parametrize("reason", SCHEMAS["Reason"]["enum"])
def test_every_reason_says_what_it_asks(reason: str) -> None:
    assert re.search(rf"^\| `{reason}` \| .+ \| .+ \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(
    "heading",
    ["Poll, or hold", "Retries", "Idempotency", "Limits", "What each failure asks of you"],
)
def test_every_matter_has_its_heading(heading: str) -> None:
    assert f"\n## {heading}\n" in PAGE


@pytest.mark.parametrize(
    "number", ["85 seconds", "100 seconds", "30 days", "24 hours", "newest 60", "60 s idle"]
)
def test_it_has_the_numbers_of_the_reference(number: str) -> None:
    assert number in PAGE
    assert number in REFERENCE


def test_polling_as_told_fits_the_limit_of_checks() -> None:
    told = re.search(r"use (\d+) of the (\d+) checks a minute", PAGE)
    assert told is not None
    every = DOCUMENT["components"]["examples"]["running"]["value"]["retry_after"]

    assert int(told[1]) == 2 * 60 // every
    assert int(told[2]) == CHECKS_PER_MINUTE


def test_every_header_it_names_is_described() -> None:
    named = set(re.findall(r"`((?:X-|Rate|Retry|Idem|If-|ETag)[A-Za-z-]*)`", PAGE))
    parameters = {
        DOCUMENT["components"]["parameters"]["IdempotencyKey"]["name"],
        DOCUMENT["paths"]["/openapi.json"]["get"]["parameters"][0]["name"],
    }

    assert named - {"RateLimit-"} <= {*DOCUMENT["components"]["headers"], *parameters}
    assert len(named) > 4


def test_its_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", PAGE)

    assert links
    for link in links:
        assert (DOCS / link).exists(), link
