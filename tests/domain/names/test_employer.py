import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.names.employer import is_employer


@pytest.mark.parametrize(
    ("company", "name"),
    [
        ("Acme", "Acme"),
        ("ACME GmbH", "Acme"),
        ("Acme Germany", "Acme"),
        ("Acme Germany GmbH", "Acme"),
        ("Acme (UK) Ltd", "Acme"),
        ("Acme, Inc.", "Acme"),
        ("Acme UK & Ireland", "Acme"),
        ("Acme Group", "Acme"),
        ("Acme International HQ", "Acme"),
        ("The Acme Inc.", "Acme"),
        ("oldnavy", "Old Navy"),
        ("Old Navy Canada", "Old Navy"),
        ("L'Oreal France", "L'Oréal"),
    ],
)
def test_the_company_and_its_branches_are_the_employer(company: str, name: str) -> None:
    assert is_employer(company, [name])


@pytest.mark.parametrize(
    ("company", "name"),
    [
        ("Acme Robotics", "Acme"),
        ("Acme Robotics Germany", "Acme"),
        ("Delta Faucet", "Delta"),
        ("New Acme", "Acme"),
        ("Acme (2019-2022)", "Acme"),
        ("Germany", "Acme"),
        ("Group", "Acme"),
        ("", "Acme"),
        ("Acme", ""),
    ],
)
def test_another_company_is_not(company: str, name: str) -> None:
    assert not is_employer(company, [name])


def test_one_of_several_names_is_enough() -> None:
    assert is_employer("Globex Spain", ["Acme", "Globex"])
    assert not is_employer("Globex", [])


@given(st.text(max_size=40), st.text(max_size=20))
def test_any_text_is_an_employer_or_not(company: str, name: str) -> None:
    assert is_employer(company, [name]) in {True, False}
