"""Who is shown, in which order, and why the others are not."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.contact import CONTACTS, BrandFacts, Person
from cs.domain.ranking import rank

ACME = BrandFacts(name="Acme", parent_company="Acme Holding", aliases=("Acme Shoes",))
#: In the order they are shown in; the ids say nothing of it.
IN_ORDER = [
    ("Zoe Ash", "Head of Influencer Marketing at Acme", "/in/a"),
    ("Amy Birch", "Influencer Marketing Manager at Acme", "/in/b"),
    ("Yan Cedar", "Director of Social Media at Acme", "/in/c"),
    ("Bea Dogwood", "Social Media Manager at Acme", "/in/d"),
    ("bea elder", "Social Media Manager at Acme", "/in/c"),
    ("Bea Elder", "Social Media Manager at Acme", "/in/e"),
    ("Cal Fir", "Social Media Manager at Acme", None),
    ("Xia Gum", "VP Partnerships at Acme", "/in/f"),
    ("Ann Hazel", "Partnerships Manager at Acme", "/in/g"),
    ("Wim Ivy", "Chief Brand Officer at Acme", "/in/h"),
    ("Vic Juniper", "Senior Brand Manager at Acme", "/in/i"),
    ("Abe Kauri", "Brand Marketing Manager at Acme", "/in/j"),
]
NUMBERS = (7, 3, 11, 1, 9, 5, 12, 2, 8, 4, 10, 6)


def person(number: int, headline: str | None, **more: str | None) -> Person:
    told = {"full_name": f"Person {number}"} | more
    return Person(person=f"p{number}", headline=headline, **told)  # type: ignore[arg-type]


PEOPLE = [
    person(number, headline, full_name=name, linkedin_url=url)
    for number, (name, headline, url) in zip(NUMBERS, IN_ORDER, strict=True)
]


def shown(people: Sequence[Person]) -> list[str]:
    return [each.person for each in rank(ACME, people)[0]]


def test_family_then_seniority_then_name_then_address() -> None:
    assert shown(PEOPLE) == [f"p{number}" for number in NUMBERS]


@given(st.permutations(PEOPLE))
def test_the_order_found_in_makes_no_difference(people: list[Person]) -> None:
    assert rank(ACME, people) == rank(ACME, PEOPLE)


@given(st.permutations([person(n, "Brand Manager", full_name="Jo Lime") for n in range(4)]))
def test_nor_among_people_who_are_alike_in_everything(people: list[Person]) -> None:
    assert shown(people) == ["p0", "p1", "p2", "p3"]


@pytest.mark.parametrize("over", [0, 1, 7])
def test_at_most_so_many_are_shown_the_best_of_them(over: int) -> None:
    crowd = [person(n, "Social Media Manager at Acme") for n in range(CONTACTS + over - 1)]
    head = person(999, "Head of Influencer Marketing at Acme")
    ranked, left = rank(ACME, [*crowd, head])

    assert len(ranked) == CONTACTS
    assert ranked[0].person == "p999"
    assert [each.why for each in left] == ["over-limit"] * over
    named = {each.person for each in ranked} | {each.person for each in left}
    assert len(named) == CONTACTS + over


@pytest.mark.parametrize(
    ("headline", "company", "there"),
    [
        ("Head of Social at Acme", None, True),
        ("Head of Social at Acme Holding", None, True),
        ("Head of Social at Acme Shoes", None, True),
        ("Head of Social", "Acme", True),
        ("Head of Social", None, True),  # found for this brand, and nothing speaks against it
        ("Head of Social at Globex", None, False),
        ("Head of Social", "Globex", False),
    ],
)
def test_people_of_other_companies_are_left_out(
    headline: str, company: str | None, *, there: bool
) -> None:
    ranked, left = rank(ACME, [person(1, headline, company=company)])

    assert [each.person for each in ranked] == ["p1"] * there
    assert [each.why for each in left] == ["other-company"] * (not there)
