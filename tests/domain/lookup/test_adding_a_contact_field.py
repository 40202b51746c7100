"""docs/adding-a-contact-field.md does what it says, in a copy of the sources."""

import json
from pathlib import Path

import pytest

from domain.recipe import changes, copy_sources, run_in

CHANGES = changes("adding-a-contact-field.md")
#: What a page cannot show: the file that is written, and the source that knows the field.
BESIDE = 2


def test_a_field_of_a_contact_touches_at_most_six_files() -> None:
    assert len({change.path for change in CHANGES}) + BESIDE <= 6


@pytest.mark.slow
def test_a_caller_reads_what_the_source_said(tmp_path: Path) -> None:
    copy_sources(tmp_path)
    for change in CHANGES:
        change.apply(tmp_path)

    searched = run_in(tmp_path, "-m", "domain.lookup.field_search")
    documented = run_in(
        tmp_path, "-m", "pytest", "-q", "tests/api/test_openapi.py", "-k", "contact or field"
    )

    assert searched.returncode == 0, searched.stderr
    (ada,) = json.loads(searched.stdout.splitlines()[-1])
    assert (ada["full_name"], ada["department"]) == ("Ada Kern", "Marketing")
    assert documented.returncode == 0, documented.stdout


@pytest.mark.slow
def test_a_field_without_a_limit_is_named_by_one_test(tmp_path: Path) -> None:
    copy_sources(tmp_path)
    for change in CHANGES:
        if change.path != "src/cs/domain/stages/limits.py":
            change.apply(tmp_path)

    ran = run_in(
        tmp_path,
        "-m",
        "pytest",
        "-q",
        "tests/domain/stages/test_limits.py",
        "-k",
        "has_a_limit",
    )

    assert "Sighting.department" in ran.stdout
