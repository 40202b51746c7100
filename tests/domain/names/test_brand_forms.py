"""What is forgiven of a name that people write in another way."""

from hypothesis import given
from hypothesis import strategies as st

from cs.domain.names.brand_forms import (
    asked_forms,
    before_owner,
    branch_forms,
    close_forms,
    core_forms,
    initials,
    undecorated,
)
from cs.domain.names.brand_match import is_house, name_keys
from cs.domain.names.other_scripts import as_heard, hearings

CLOSE = [
    ("Oakley™", "Oakley"),
    ("Red Bull (R)", "Red Bull"),
    ("Wendy´s", "Wendy's"),
    ("Moevenpick", "Mövenpick"),
    ("Smoerrebroed", "Smørrebrød"),
    ("Kärcher", "Kaercher"),
]
ALIKE = [
    ("Rewe Group", "Rewe"),
    ("Prada Holding", "Prada"),
    ("Groupe Renault", "Renault"),
    ("Kohl's Department Stores", "Kohl's"),
    ("Publix Super Markets", "Publix"),
    ("Dr. Martens Group Holdings", "Dr. Martens"),
    ("Nike's", "Nike"),
    ("Birkenstocks", "Birkenstock"),
    ("Crate + Barrel", "Crate & Barrel"),
    ("Barnes n Noble", "Barnes & Noble"),
    ("Pull Bear", "Pull&Bear"),
    ("Seven Eleven", "7-Eleven"),
    ("Warner Brothers", "Warner Bros."),
    ("Acme (Europe)", "Acme"),
    ("Mövenpick Hotels", "Mövenpick Hotels & Resorts"),
]
APART = [
    ("HM", "H&M"),
    ("Body", "The Body Shop"),
    ("Delta", "Delta Faucet"),
    ("Old", "Old Navy"),
    ("Op", "Co-op"),
    ("Boss", "Bos"),
]


def alike(asked: str, known: str) -> bool:
    return any(not keys.isdisjoint(core_forms(known)) for keys in asked_forms(asked))


def test_forms_forgive_what_people_add_and_leave_out() -> None:
    strangers = [
        pair for pair in CLOSE if close_forms(pair[0]).isdisjoint(close_forms(pair[1]))
    ]
    missed = [pair for pair in ALIKE if not alike(*pair)]
    mixed = [pair for pair in APART if alike(*pair)]

    assert (strangers, missed, mixed) == ([], [], [])


def test_a_branch_is_named_by_its_country_and_a_brand_by_its_owner() -> None:
    assert branch_forms("TK Maxx UK") == {"tkmaxx"}
    assert branch_forms("France") == branch_forms("Air Liquide") == frozenset()
    assert before_owner("Home2 Suites by Hilton") == ("Home2 Suites", "Hilton")
    assert before_owner("Stand by Me by Acme") is before_owner("Standby") is None
    assert "hpb" in initials("Half Price Books")
    assert is_house("The Estée Lauder Companies Inc.")
    assert not is_house("Adidas")


def test_other_scripts_are_heard() -> None:
    heard = {name: as_heard(name) for name in ("сбербанк", "ζαρα", "セフォラ", "삼성", "小米")}

    assert heard == {
        "сбербанк": "sberbank",
        "ζαρα": "zara",
        "セフォラ": "sefora",
        "삼성": "samseong",
        "小米": None,
    }
    assert "adidas" in hearings("アディダス")
    assert hearings("adidas") == ()


names = (
    st.text(st.sampled_from("aAbsé&+.-'™ co inc the group UK漢がüø"), max_size=16) | st.text()
)


@given(names)
def test_a_name_is_alike_to_itself_however_it_is_decorated(name: str) -> None:
    if not name_keys(undecorated(name)).spelling or set(name) <= set("™®©℠ "):
        return

    assert close_forms(name) & close_forms(f" {name}™ ")
    for form in (close_forms, core_forms):
        assert form(name) == form(f"{name} ")
    if core_forms(name):
        assert alike(name, name)


@given(st.text())
def test_whatever_is_written_is_heard_as_latin_letters_or_not_at_all(text: str) -> None:
    heard = as_heard(text)

    assert heard is None or heard.isascii()
