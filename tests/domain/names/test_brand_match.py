"""Which spellings are one brand, and which brands stay apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.names.brand_match import (
    COMPANY,
    DIFFERENT,
    EXACT,
    SPELLING,
    begins_with,
    best_likeness,
    likeness,
    name_keys,
    names_host,
)


@pytest.mark.parametrize(
    ("asked", "known"),
    [
        ("NIKE ", "Nike"),
        ("ｎｉｋｅ", "nike"),
        ("Strauss", "Strauß"),
        ("o²", "O2"),
        ("!!", "!!"),
    ],
)
def test_case_and_width_are_exact(asked: str, known: str) -> None:
    assert likeness(asked, known) == EXACT


@pytest.mark.parametrize(
    ("asked", "known"),
    [
        ("oldnavy", "Old Navy"),
        ("L'Oreal", "L’Oréal"),
        ("H and M", "H&M"),
        ("7 Eleven", "7-Eleven"),
        ("Toys R Us", "Toys“R”Us"),
        ("M.A.C.", "MAC"),
        ("Disney Plus", "Disney+"),
        ("Citroen", "Citroën"),
        ("Smorrebrod", "Smørrebrød"),
        ("A/S", "AS"),
    ],
)
def test_spelling_is_almost_exact(asked: str, known: str) -> None:
    assert likeness(asked, known) == SPELLING


@pytest.mark.parametrize(
    ("asked", "known"),
    [
        ("Nike, Inc.", "Nike"),
        ("The Gap", "Gap Inc."),
        ("Tiffany", "Tiffany & Co."),
        ("Müller GmbH & Co. KG", "Muller"),
        ("Canon", "Canon Co., Ltd."),
        ("Carlsberg A/S", "carlsberg"),
        ("Barilla S.p.A.", "The Barilla"),
    ],
)
def test_legal_form_and_article_are_forgiven(asked: str, known: str) -> None:
    assert likeness(asked, known) == COMPANY


@pytest.mark.parametrize(
    ("asked", "known"),
    [
        ("Delta", "Delta Faucet"),
        ("Zara", "Zora"),
        ("Gap", "Gap Company"),
        ("Shoe", "The Shoe Co"),
        ("The Limited", "The"),
        ("Inc", "The"),
        ("Dove", "Dove Chocolate"),
        ("Nike", "Nikon"),
        ("H&M", "HM"),
        ("e&", "e"),
        ("か", "が"),
        ("हिन्दी", "हनद"),
        ("!!", "??"),
        ("☕☕", "♥♥"),
    ],
)
def test_different_brands_stay_apart(asked: str, known: str) -> None:
    assert likeness(asked, known) == DIFFERENT


def test_the_closest_of_several_names_counts() -> None:
    assert best_likeness("target corporation", ["Super Target", "Target"]) == COMPANY
    assert best_likeness("target", []) == DIFFERENT


@pytest.mark.parametrize(
    ("domain", "name"),
    [
        ("oldnavy.com", "Old Navy"),
        ("old-navy.fr", "Old Navy"),
        ("oldnavy.gap.com", "Old Navy"),
        ("loreal.com", "L'Oréal"),
        ("booking.com", "Booking.com"),
        ("xn--mnchen-3ya.de", "München"),
        ("gap.com", "The Gap Inc."),
    ],
)
def test_a_host_named_like_the_brand(domain: str, name: str) -> None:
    assert names_host(domain, name)


@pytest.mark.parametrize(
    ("domain", "name"),
    [
        ("gap.com", "Old Navy"),
        ("deltafaucet.com", "Delta"),
        ("unilever.com", "Dove"),
        ("xn--0.com", "0"),
        ("nike.com", "!!"),
    ],
)
def test_a_host_named_otherwise(domain: str, name: str) -> None:
    assert not names_host(domain, name)


def test_the_first_words_of_a_longer_name() -> None:
    assert begins_with("Delta Faucet Company", "Delta")
    assert begins_with("Delta Faucet", "The Delta Inc.")
    assert not begins_with("Deltacom", "Delta")
    assert not begins_with("Faucet Delta", "Delta")
    assert not begins_with("Delta", "!!")


names = (
    st.text(st.sampled_from("aA bé&.-'co inc the ltd漢が\u0301\u0130"), max_size=14) | st.text()
)


@given(names, names)
def test_likeness_is_the_same_both_ways(one: str, other: str) -> None:
    assert likeness(one, other) == likeness(other, one)
    assert likeness(one, one) == EXACT


@given(names)
def test_decoration_never_leaves_the_brand(name: str) -> None:
    spelling = name_keys(name).spelling
    if not spelling:
        return

    assert likeness(name, f" {name.upper()} ") >= SPELLING
    if not spelling.endswith(("co", "company", "the")):  # "Gap Co" is not "Gap Co., Ltd."
        assert likeness(name, f"{name} Inc.") >= COMPANY


@given(names, names)
def test_alike_at_one_level_is_alike_at_the_next(one: str, other: str) -> None:
    a, b = name_keys(one), name_keys(other)

    if a.exact == b.exact:
        assert a.spelling == b.spelling
        assert a.company == b.company
