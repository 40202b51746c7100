"""What is a slip of a name, and what is another name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from cs.domain.names.typos import MOST, is_slip_by_words, slip

SLIPS = {
    "a letter doubled": [("addidas", "adidas"), ("nikkon", "nikon")],
    "a double written once": [("marriot", "marriott"), ("massimoduti", "massimodutti")],
    "two swapped": [("sepohra", "sephora"), ("timberlnad", "timberland")],
    "two swapped over a third": [("lulumelon", "lululemon")],
    "one left out": [("starbuks", "starbucks"), ("porshe", "porsche")],
    "another vowel": [("huawai", "huawei"), ("colombia", "columbia")],
    "heard so": [("guchi", "gucci"), ("swarowski", "swarovski")],
    "a letter that is not heard": [("lambhorgini", "lamborghini")],
    "the vowels wrong": [("krispiekreem", "krispykreme"), ("volkswagon", "volkswagen")],
}
OTHERS = {
    "another first letter": [("lara", "zara"), ("tigros", "migros"), ("huffer", "buffer")],
    "a letter more at the end": [("dysona", "dyson"), ("shelly", "shell")],
    "too short": [("zora", "zara"), ("puna", "puma")],
    "two letters more, double themselves": [("dollarllama", "dollarama")],
    "another word": [("adidiwear", "adidas"), ("starbarks", "starbucks")],
}


def test_slips_are_near_and_other_names_are_not() -> None:
    far = [pair for pairs in SLIPS.values() for pair in pairs if slip(*pair) > MOST]
    near = [pair for pairs in OTHERS.values() for pair in pairs if slip(*pair) <= MOST]

    assert (far, near) == ([], [])


@pytest.mark.parametrize(
    ("asked", "known", "same"),
    [
        ("Tomy Hilfigger", "Tommy Hilfiger", True),
        ("Krispie Kreem", "Krispy Kreme", True),
        ("Lulu Lemon", "Lululemon", True),  # cut otherwise: says nothing
        ("ASN Bank", "ASB Bank", False),
        ("The Bed Store", "The Beer Store", False),
        ("Ship & Go", "Shop & Go", True),
        ("Calvin Kline", "Calvin Klein", True),
        ("Petit Gateau", "Petit Bateau", False),
        ("Fedora Express", "Federal Express", False),
        ("Michael Hil", "Michael Hill", True),
        ("Michael Hit", "Michael Hill", False),
    ],
)
def test_each_word_is_looked_at(asked: str, known: str, *, same: bool) -> None:
    assert is_slip_by_words(asked, known) is same


keys = st.text(st.sampled_from("abcdeiost"), max_size=12)


@given(keys, keys)
def test_a_slip_weighs_by_letters_and_nothing_weighs_nothing(one: str, other: str) -> None:
    weight = slip(one, other)

    assert (weight == 0.0) == (one == other)
    if one and other:
        # The lightest difference weighs 0.4, or all vowels together 0.9.
        assert weight * len(other) >= min(0.4 * OSA.distance(one, other), 0.9) * 0.49
