"""Names of people and of where they work, as they write them and as mailboxes spell them."""

import re
from itertools import zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.contact import Person
from cs.domain.names.employer import is_employer
from cs.domain.names.person_name import ascii_forms, shown_name, split_name
from cs.domain.names.plain_text import folded, plain
from cs.domain.names.profile_url import person_page
from cs.domain.opinions import HIDDEN, nameless

SPLIT = {
    ("Jane", "Doe"): (
        *("Jane Doe", "Dr. Jane Doe, MBA", "Jane Doe PhD", "Jane Doe (she/her) 🚀"),
        *("Jane “JJ” (Smith) Doe", "Doe, Jane"),
    ),
    ("Mary", "Watson"): ("Mary Jane Watson",),
    ("John", "Smith"): ("John E. Smith",),
    ("Anna", "van der Berg"): ("Anna van der Berg",),
    ("José", "García López"): ("José García López",),
    ("José", "Ortega y Gasset"): ("José Ortega y Gasset",),
    ("Ana", "Lima"): ("Ana Souza Lima",),
    ("Sammy", "Davis"): ("Sammy Davis Jr.",),
    ("Jack", "Ma"): ("Jack Ma",),
    ("JACK", "MA"): ("JACK MA",),
    ("Marie", "DUPONT"): ("DUPONT Marie",),
    ("Jean-Luc", "Picard"): ("Jean-Luc Picard",),
    ("Sinéad", "O'Connor"): ("Sinéad O'Connor",),
    ("민수", "김"): ("김민수",),
    ("민수", "남궁"): ("남궁민수",),
    ("小明", "王"): ("王小明",),
    ("娜娜", "欧阳"): ("欧阳娜娜",),
    ("太郎", "山田"): ("山田 太郎",),
    ("Jane", None): ("Jane D.",),  # an initial is no family name
    (None, None): ("", "123", "Cher", "Store 24", "von der Leyen", "山田太郎"),
}
FORMS = {
    "Doe": "doe",
    "Müller": "mueller muller",
    "Weiß": "weiss",
    "Søren": "soren soeren",
    "Łukasz": "lukasz",
    "José": "jose",
    "O'Connor": "oconnor",
    "D’Angelo": "dangelo",
    "van der Berg": "vanderberg",
    "Jean-Luc": "jean-luc jeanluc",
    "김": "",
    "": "",
    "Smith–Jones": "smith-jones smithjones",
}
EMPLOYERS = (
    *(("Acme", "Acme"), ("ACME GmbH", "Acme"), ("Acme Germany GmbH", "Acme")),
    *(("Acme (UK) Ltd", "Acme"), ("Acme, Inc.", "Acme"), ("Acme UK & Ireland", "Acme")),
    *(("Acme International HQ", "Acme"), ("The Acme Inc.", "Acme"), ("oldnavy", "Old Navy")),
    ("L'Oreal France", "L'Oréal"),
)
OTHER_FIRMS = (
    *(("Acme Robotics", "Acme"), ("Acme Robotics Germany", "Acme"), ("New Acme", "Acme")),
    *(("Acme (2019-2022)", "Acme"), ("Germany", "Acme"), ("Group", "Acme"), ("", "Acme")),
    ("Acme", ""),
)
ONE_NAME = (
    *(("Иван", "Ivan"), ("Ивана", "Ivan"), ("Александр", "Alexander"), ("Джон", "John")),
    *(("Екатерина", "Jekaterina"), ("Юлия", "Julia"), ("Кристина", "Christina")),
    *(("Чехов", "Tschechow"), ("Шевченко", "Shevchenko"), ("Παπαδόπουλος", "Papadopoulos")),
    *(("Χρήστος", "Christos"), ("タナカ", "Tanaka"), ("김민수", "KimMinsu")),
    *(("Мюллер", "Müller"), ("Müller", "Mueller"), ("Ødegård", "Odegard")),
)
TWO_NAMES = (
    *(("Иван", "Oleg"), ("бренд", "Ivan"), ("Miller", "Müller"), ("Ivan", "Evan")),
    *(("маркетинг", "Anna"), ("Ан", "Jo"), ("محمد", "Mohammed"), ("王", "Wang")),
)


def test_first_and_last_name() -> None:
    rows = [(written, name) for name, every in SPLIT.items() for written in every]

    assert [(written, split_name(written)) for written, _ in rows] == rows
    assert shown_name("Prof. Dr. John E. Smith, CFA | Speaker") == "John E. Smith"
    assert {name: " ".join(ascii_forms(name)) for name in FORMS} == FORMS


def test_the_company_and_its_branches_are_the_employer_and_another_is_not() -> None:
    assert [pair for pair in EMPLOYERS if not is_employer(pair[0], [pair[1]])] == []
    assert [pair for pair in OTHER_FIRMS if is_employer(pair[0], [pair[1]])] == []
    assert is_employer("Globex Spain", ["Acme", "Globex"])
    assert not is_employer("Globex", [])


@given(st.text(max_size=200), st.text(max_size=20))
def test_any_text_is_a_name_or_not(name: str, other: str) -> None:
    first, last = split_name(name)
    forms = ascii_forms(name)

    assert first is None or first.strip()
    assert last is None or (first is not None and last.strip())
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", form) for form in forms)
    assert len(set(forms)) == len(forms)
    assert is_employer(name[:40], [other]) in {True, False}


@given(st.text(st.characters(max_codepoint=0x7F), max_size=60))
def test_ascii_takes_a_short_way_to_the_same_text(text: str) -> None:
    assert plain(text).split() == plain(f"{text} é").split()[:-1]
    assert f"{folded(text)} e" == folded(f"{text} é")


@given(st.text("abcz019-", min_size=1))
def test_an_address_in_the_one_form_is_the_same_however_it_is_read(slug: str) -> None:
    url = f"https://www.linkedin.com/in/{slug}"

    assert person_page(url) == url
    assert person_page(f"http://uk.linkedin.com/in/{slug.upper()}/?trk=x") == url


def _is_one_name(word: str, other: str) -> bool:
    return nameless(word, Person(person="p1", full_name=other)) == HIDDEN


def test_names_in_two_scripts_are_one_or_two() -> None:
    both = [*ONE_NAME, *((other, word) for word, other in ONE_NAME)]

    assert [pair for pair in both if not _is_one_name(*pair)] == []
    assert [pair for pair in TWO_NAMES if _is_one_name(*pair)] == []


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
