"""Names as people write them, and the local parts made of them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.names.person_name import ascii_forms, shown_name, split_name


@pytest.mark.parametrize(
    ("written", "first", "last"),
    [
        ("Jane Doe", "Jane", "Doe"),
        ("Dr. Jane Doe, MBA", "Jane", "Doe"),
        ("Jane Doe PhD", "Jane", "Doe"),
        ("Jane Doe (she/her) 🚀", "Jane", "Doe"),
        ("Jane “JJ” (Smith) Doe", "Jane", "Doe"),
        ("Doe, Jane", "Jane", "Doe"),
        ("Mary Jane Watson", "Mary", "Watson"),
        ("John E. Smith", "John", "Smith"),
        ("Anna van der Berg", "Anna", "van der Berg"),
        ("María de la Cruz", "María", "de la Cruz"),
        ("José García López", "José", "García López"),
        ("José Ortega y Gasset", "José", "Ortega y Gasset"),
        ("Ana Souza Lima", "Ana", "Lima"),
        ("Sammy Davis Jr.", "Sammy", "Davis"),
        ("Ben Affleck", "Ben", "Affleck"),
        ("Jack Ma", "Jack", "Ma"),
        ("JACK MA", "JACK", "MA"),
        ("DUPONT Marie", "Marie", "DUPONT"),
        ("Jean-Luc Picard", "Jean-Luc", "Picard"),
        ("Sinéad O'Connor", "Sinéad", "O'Connor"),
        ("김민수", "민수", "김"),
        ("남궁민수", "민수", "남궁"),
        ("王小明", "小明", "王"),
        ("欧阳娜娜", "娜娜", "欧阳"),
        ("山田 太郎", "太郎", "山田"),
    ],
)
def test_first_and_last_name(written: str, first: str, last: str) -> None:
    assert split_name(written) == (first, last)


@pytest.mark.parametrize(
    "written", ["", "123", "Cher", "Store 24", "von der Leyen", "山田太郎"]
)
def test_what_cannot_be_told_apart_is_not_split(written: str) -> None:
    assert split_name(written) == (None, None)


def test_an_initial_is_no_family_name() -> None:
    assert split_name("Jane D.") == ("Jane", None)


def test_the_name_shown_keeps_its_middle() -> None:
    assert shown_name("Prof. Dr. John E. Smith, CFA | Speaker") == "John E. Smith"


@pytest.mark.parametrize(
    ("name", "forms"),
    [
        ("Doe", ("doe",)),
        ("Müller", ("mueller", "muller")),
        ("Weiß", ("weiss",)),
        ("Søren", ("soren", "soeren")),
        ("Łukasz", ("lukasz",)),
        ("José", ("jose",)),
        ("O'Connor", ("oconnor",)),
        ("D’Angelo", ("dangelo",)),
        ("van der Berg", ("vanderberg",)),
        ("Jean-Luc", ("jean-luc", "jeanluc")),
        ("Smith–Jones", ("smith-jones", "smithjones")),
        ("김", ()),
        ("", ()),
    ],
)
def test_ascii_forms(name: str, forms: tuple[str, ...]) -> None:
    assert ascii_forms(name) == forms


@given(st.text(max_size=200))
def test_spellings_are_what_a_local_part_may_hold(name: str) -> None:
    forms = ascii_forms(name)

    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", form) for form in forms)
    assert len(set(forms)) == len(forms)


@given(st.text(max_size=200))
def test_any_text_is_split_or_not(name: str) -> None:
    first, last = split_name(name)

    assert first is None or first.strip()
    assert last is None or (first is not None and last.strip())
