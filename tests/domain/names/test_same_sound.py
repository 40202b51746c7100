"""Names in two scripts, and in two spellings of one."""

from itertools import zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.contact import Person
from cs.domain.names.same_sound import is_one_name
from cs.domain.opinions import HIDDEN, nameless
from harness.every_row import check_every

#: How passports of several countries and times write the letters of Russian and Ukrainian.
ROMANIZED = {
    "а": "a",
    "б": "b",
    "в": "v w",
    "г": "g",
    "д": "d",
    "е": "e ye",
    "ж": "zh",
    "з": "z s",
    "и": "i",
    "й": "y i j",
    "к": "k",
    "л": "l",
    "м": "m",
    "н": "n",
    "о": "o",
    "п": "p",
    "р": "r",
    "с": "s ss",
    "т": "t",
    "у": "u",
    "ф": "f ph",
    "х": "kh h",
    "ц": "ts tz",
    "ч": "ch tsch",
    "ш": "sh sch",
    "щ": "shch sch",
    "ы": "y",
    "э": "e",
    "ю": "yu iu ju",
    "я": "ya ia ja",
    "і": "i",
    "ї": "yi i",
    "є": "ye ie",
}


def test_names_that_are_one() -> None:
    check_every(
        [
            *(("Иван", "Ivan"), ("Ивана", "Ivan"), ("Александр", "Alexander")),
            *(("Екатерина", "Jekaterina"), ("Юлия", "Julia"), ("Джон", "John")),
            *(("Кристина", "Christina"), ("Чехов", "Tschechow"), ("Шевченко", "Shevchenko")),
            *(
                ("Παπαδόπουλος", "Papadopoulos"),
                ("Χρήστος", "Christos"),
                ("Γιώργος", "Giorgos"),
            ),
            *(("タナカ", "Tanaka"), ("김민수", "KimMinsu"), ("Мюллер", "Müller")),
            *(("Müller", "Mueller"), ("Müller", "Muller"), ("Ødegård", "Odegard")),
        ],
        lambda two: _assert(is_one_name(*two) and is_one_name(*reversed(two))),
    )


def test_names_that_are_two() -> None:
    check_every(
        [
            *(("Иван", "Oleg"), ("бренд", "Ivan"), ("Miller", "Müller"), ("Ivan", "Evan")),
            *(("маркетинг", "Anna"), ("Ан", "Jo"), ("محمد", "Mohammed"), ("王", "Wang")),
        ],
        lambda two: _assert(not is_one_name(*two)),
    )


def _assert(holds: bool) -> None:
    assert holds


@st.composite
def romanized(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a word in Cyrillic, and one of the ways to write it in Latin letters."""
    consonants = [each for each in ROMANIZED if each not in "аеиоуыэюяіїєй"]
    length = draw(st.integers(2, 5))
    letters = [
        draw(st.sampled_from(group))
        for pair in zip_longest([consonants] * length, [list("аеиоуыюя")] * (length - 1))
        for group in pair
        if group is not None
    ]
    latin = [draw(st.sampled_from(ROMANIZED[each].split())) for each in letters]
    return "".join(letters), "".join(latin)


@pytest.mark.slow
@given(romanized(), st.booleans())
def test_a_name_in_cyrillic_is_not_sent_in_latin_letters_nor_the_other_way(
    word: tuple[str, str], in_latin: bool
) -> None:
    name, written = word if in_latin else word[::-1]
    person = Person(person="p1", full_name=name.title())

    assert nameless(f"{written.title()}, Brand", person) == f"{HIDDEN}, Brand"


def test_a_name_that_cannot_be_read_aloud_is_known_by_its_address() -> None:
    for name, address, headline, sent in [
        ("محمد علي", "mohammed-ali-12a", "Mohammed Ali | Brand", f"{HIDDEN} {HIDDEN} | Brand"),
        ("王小明", "xiaoming-wang", "Xiaoming Wang, Brand", f"{HIDDEN} {HIDDEN}, Brand"),
        ("Jo Lane", "brand-queen", "Brand Lead", "Brand Lead"),
    ]:
        page = f"https://www.linkedin.com/in/{address}"
        person = Person(person="p1", full_name=name, linkedin_url=page)
        assert nameless(headline, person) == sent
