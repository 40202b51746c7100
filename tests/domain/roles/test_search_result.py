"""Search results for profile pages, as engines give them."""

import pytest

from cs.domain.roles.search_result import read_title


def test_name_role_and_company_stand_in_the_title() -> None:
    seen = read_title("Jane Doe - Head of Influencer - Acme | LinkedIn", "")

    assert seen is not None
    assert (seen.full_name, seen.headline) == ("Jane Doe", "Head of Influencer - Acme")
    assert (seen.company, seen.location) == ("Acme", None)


def test_the_role_may_stand_in_the_snippet() -> None:
    seen = read_title(
        "Jane Doe – Acme | LinkedIn",
        "Head of Social at Acme · Location: Berlin · 500+ connections on LinkedIn.",
    )

    assert seen is not None
    assert (seen.headline, seen.company) == ("Head of Social at Acme", "Acme")
    assert seen.location == "Berlin"


def test_the_snippet_may_begin_with_the_place() -> None:
    seen = read_title(
        "Jane Doe - Head of Influencer Marketing at Acm… | LinkedIn",
        "Berlin, Germany · Head of Influencer Marketing · Acme",
    )

    assert seen is not None
    assert seen.headline == "Head of Influencer Marketing"  # half a name is no name
    assert (seen.company, seen.location) == ("Acme", "Berlin, Germany")


def test_degrees_are_no_part_of_the_name() -> None:
    seen = read_title("Jane Doe, MBA - Head of Social Media & ... - LinkedIn", "")

    assert seen is not None
    assert (seen.full_name, seen.headline) == ("Jane Doe", "Head of Social Media")


@pytest.mark.parametrize(
    "suffix",
    [
        " | LinkedIn",
        " - LinkedIn",
        " – LinkedIn Deutschland",
        " | LinkedIn France",
        " | 领英",
        "",
    ],
)
def test_the_network_is_no_employer_in_any_language(suffix: str) -> None:
    seen = read_title(f"Jane Doe - Brand Manager - Acme{suffix}", "")

    assert seen is not None
    assert (seen.headline, seen.company) == ("Brand Manager - Acme", "Acme")


def test_experience_in_the_snippet_names_the_employer() -> None:
    seen = read_title(
        "Jane Doe - LinkedIn",
        "Berufserfahrung: Acme · Ort: München · 500+ Kontakte auf LinkedIn.",
    )

    assert seen is not None
    assert (seen.company, seen.location, seen.headline) == ("Acme", "München", None)


@pytest.mark.parametrize(
    "title",
    [
        "",
        "100+ Influencer Manager jobs in London | LinkedIn",
        "Acme GmbH | LinkedIn",
        "Acme | LinkedIn",
        "Acme Marketing - Berlin | LinkedIn",
        "Social Media Manager - Acme | LinkedIn",
        "Jane Doe's Post - LinkedIn",
        "Jane Doe on LinkedIn: #brand",
        "Top 10 Jane Doe Profiles | LinkedIn",
        "LinkedIn",
    ],
)
def test_a_title_that_names_no_person_is_none(title: str) -> None:
    assert read_title(title, "Head of Social at Acme") is None
