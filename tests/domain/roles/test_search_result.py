"""Search results for profile pages, as engines give them."""

import pytest

from cs.domain.roles.search_result import read_title

LONG = "Head of Social at Acme · Location: Berlin · 500+ connections on LinkedIn."
#: Title and snippet; name, headline, company and place read of them.
READ: list[tuple[str, str, tuple[str, str | None, str | None, str | None]]] = [
    (
        "Jane Doe - Head of Influencer - Acme | LinkedIn",
        "",
        ("Jane Doe", "Head of Influencer - Acme", "Acme", None),
    ),
    # The role may stand in the snippet, which may begin with the place.
    (
        "Jane Doe – Acme | LinkedIn",
        LONG,
        ("Jane Doe", "Head of Social at Acme", "Acme", "Berlin"),
    ),
    (
        "Jane Doe - Head of Influencer Marketing at Acm… | LinkedIn",  # half a name is none
        "Berlin, Germany · Head of Influencer Marketing · Acme",
        ("Jane Doe", "Head of Influencer Marketing", "Acme", "Berlin, Germany"),
    ),
    (
        "Jane Doe - LinkedIn",
        "Berufserfahrung: Acme · Ort: München · 500+ Kontakte auf LinkedIn.",
        ("Jane Doe", None, "Acme", "München"),
    ),
    # Degrees are no part of a name.
    (
        "Jane Doe, MBA - Head of Social Media & ... - LinkedIn",
        "",
        ("Jane Doe", "Head of Social Media", None, None),
    ),
    # The network is no employer in any language.
    *(
        (
            f"Jane Doe - Brand Manager - Acme{suffix}",
            "",
            ("Jane Doe", "Brand Manager - Acme", "Acme", None),
        )
        for suffix in (
            " - LinkedIn",
            " – LinkedIn Deutschland",
            " | LinkedIn France",
            " | 领英",
            "",
        )
    ),
]


def test_name_role_company_and_place_are_read() -> None:
    wrong = []
    for title, snippet, expected in READ:
        seen = read_title(title, snippet)
        assert seen is not None
        found = (seen.full_name, seen.headline, seen.company, seen.location)
        if found != expected:
            wrong.append((title, found))

    assert wrong == []


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
