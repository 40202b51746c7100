"""Which spellings are one brand, which may be, and which brands stay apart."""

from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from cs.domain.names.brand_match import (
    COMPANY,
    DIFFERENT,
    EXACT,
    SPELLING,
    asked_forms,
    before_owner,
    begins_with,
    best_likeness,
    branch_forms,
    close_forms,
    core_forms,
    initials,
    is_house,
    likeness,
    name_keys,
    names_host,
    undecorated,
    without_legal_forms,
)
from cs.domain.names.other_scripts import transliterated, transliterations
from cs.domain.names.typos import MOST, is_typo_by_words, typo_distance

LIKENESS = {
    EXACT: [("NIKE ", "Nike"), ("ｎｉｋｅ", "nike"), ("Strauss", "Strauß"), ("o²", "O2")],
    SPELLING: [
        *(("oldnavy", "Old Navy"), ("L'Oreal", "L’Oréal"), ("H and M", "H&M"), ("A/S", "AS")),
        *(("7 Eleven", "7-Eleven"), ("Toys R Us", "Toys“R”Us"), ("M.A.C.", "MAC")),
        *(("Disney Plus", "Disney+"), ("Citroen", "Citroën"), ("Smorrebrod", "Smørrebrød")),
    ],
    COMPANY: [
        *(("Nike, Inc.", "Nike"), ("The Gap", "Gap Inc."), ("Tiffany", "Tiffany & Co.")),
        *(("Müller GmbH & Co. KG", "Muller"), ("Canon", "Canon Co., Ltd.")),
        *(("Carlsberg A/S", "carlsberg"), ("Barilla S.p.A.", "The Barilla")),
    ],
    DIFFERENT: [
        *(("Delta", "Delta Faucet"), ("Zara", "Zora"), ("Gap", "Gap Company"), ("H&M", "HM")),
        *(("Shoe", "The Shoe Co"), ("The Limited", "The"), ("Inc", "The"), ("e&", "e")),
        *(("Nike", "Nikon"), ("か", "が"), ("हिन्दी", "हनद"), ("!!", "??"), ("☕☕", "♥♥")),
    ],
}
CLOSE = [
    *(("Oakley™", "Oakley"), ("Red Bull (R)", "Red Bull"), ("Wendy´s", "Wendy's")),
    *(("Moevenpick", "Mövenpick"), ("Smoerrebroed", "Smørrebrød"), ("Kärcher", "Kaercher")),
]
ALIKE = [
    *(("Rewe Group", "Rewe"), ("Prada Holding", "Prada"), ("Groupe Renault", "Renault")),
    *(("Kohl's Department Stores", "Kohl's"), ("Publix Super Markets", "Publix")),
    *(("Nike's", "Nike"), ("Birkenstocks", "Birkenstock"), ("Pull Bear", "Pull&Bear")),
    *(("Crate + Barrel", "Crate & Barrel"), ("Barnes n Noble", "Barnes & Noble")),
    *(("Seven Eleven", "7-Eleven"), ("Warner Brothers", "Warner Bros.")),
    *(("Acme (Europe)", "Acme"), ("Mövenpick Hotels", "Mövenpick Hotels & Resorts")),
]
APART = [
    *(("HM", "H&M"), ("Body", "The Body Shop"), ("Delta", "Delta Faucet"), ("Boss", "Bos")),
    *(("Old", "Old Navy"), ("Op", "Co-op")),
]
HOSTS = [
    *(("oldnavy.com", "Old Navy"), ("old-navy.fr", "Old Navy"), ("loreal.com", "L'Oréal")),
    *(("booking.com", "Booking.com"), ("xn--mnchen-3ya.de", "München")),
    ("gap.com", "The Gap Inc."),
]
OTHER_HOSTS = [
    *(("gap.com", "Old Navy"), ("deltafaucet.com", "Delta"), ("unilever.com", "Dove")),
    *(("xn--0.com", "0"), ("nike.com", "!!")),
]
#: A letter doubled, a double written once, two swapped, one left out, another vowel, heard so.
TYPOS = [
    *(("addidas", "adidas"), ("marriot", "marriott"), ("sepohra", "sephora")),
    *(("lulumelon", "lululemon"), ("starbuks", "starbucks"), ("huawai", "huawei")),
    *(("guchi", "gucci"), ("lambhorgini", "lamborghini"), ("krispiekreem", "krispykreme")),
]
#: Another first letter, a letter more at the end, too short, another word.
NO_TYPOS = [
    *(("lara", "zara"), ("tigros", "migros"), ("dysona", "dyson"), ("shelly", "shell")),
    *(("zora", "zara"), ("dollarllama", "dollarama"), ("adidiwear", "adidas")),
]
TYPOS_BY_WORD = [
    *(("Tomy Hilfigger", "Tommy Hilfiger"), ("Krispie Kreem", "Krispy Kreme")),
    *(("Ship & Go", "Shop & Go"), ("Calvin Kline", "Calvin Klein")),
    *(("Michael Hil", "Michael Hill"), ("Lulu Lemon", "Lululemon")),  # cut otherwise
]
NO_TYPOS_BY_WORD = [
    *(("ASN Bank", "ASB Bank"), ("The Bed Store", "The Beer Store")),
    *(("Petit Gateau", "Petit Bateau"), ("Fedora Express", "Federal Express")),
    ("Michael Hit", "Michael Hill"),
]
#: A word of few letters is one, unless written as a form is; and something has to stay.
WITHOUT_LEGAL_FORMS = {
    "Acme S.A.B. de C.V.": "Acme",
    "ТОВ «Рошен»": "Рошен",
    "Acme Foods FZ-LLC": "Acme Foods",
    "Acme hf": "Acme hf",
    "Acme hf.": "Acme",
    "SIA": "SIA",
    "有限公司": "有限公司",
    "": "",
    "Acme Cooperative": "Acme Cooperative",
}


def alike(asked: str, known: str) -> bool:
    return any(not keys.isdisjoint(core_forms(known)) for keys in asked_forms(asked))


def test_names_are_alike_in_one_of_four_ways() -> None:
    rows = [(pair, level) for level, pairs in LIKENESS.items() for pair in pairs]

    assert [(pair, likeness(*pair)) for pair, _ in rows] == rows
    assert best_likeness("target corporation", ["Super Target", "Target"]) == COMPANY
    assert best_likeness("target", []) == DIFFERENT


def test_hosts_are_called_like_a_brand_and_longer_names_begin_so() -> None:
    assert [pair for pair in HOSTS if not names_host(*pair)] == []
    assert [pair for pair in OTHER_HOSTS if names_host(*pair)] == []
    longer = [("Delta Faucet Company", "Delta"), ("Delta Faucet", "The Delta Inc.")]
    other = [("Deltacom", "Delta"), ("Faucet Delta", "Delta"), ("Delta", "!!")]
    assert [begins_with(*pair) for pair in (*longer, *other)] == [True] * 2 + [False] * 3


def test_forms_forgive_what_people_add_and_leave_out() -> None:
    strangers = [
        pair for pair in CLOSE if close_forms(pair[0]).isdisjoint(close_forms(pair[1]))
    ]
    missed = [pair for pair in ALIKE if not alike(*pair)]
    mixed = [pair for pair in APART if alike(*pair)]

    assert (strangers, missed, mixed) == ([], [], [])
    assert {name: without_legal_forms(name) for name in WITHOUT_LEGAL_FORMS} == (
        WITHOUT_LEGAL_FORMS
    )


def test_a_branch_is_named_by_its_country_and_a_brand_by_its_owner() -> None:
    assert branch_forms("TK Maxx UK") == {"tkmaxx"}
    assert branch_forms("France") == branch_forms("Air Liquide") == frozenset()
    assert before_owner("Home2 Suites by Hilton") == ("Home2 Suites", "Hilton")
    assert before_owner("Stand by Me by Acme") is before_owner("Standby") is None
    assert "hpb" in initials("Half Price Books")
    assert is_house("The Estée Lauder Companies Inc.")
    assert not is_house("Adidas")


def test_typos_are_near_and_other_names_are_not() -> None:
    far = [pair for pair in TYPOS if typo_distance(*pair) > MOST]
    near = [pair for pair in NO_TYPOS if typo_distance(*pair) <= MOST]
    by_words = [is_typo_by_words(*pair) for pair in (*TYPOS_BY_WORD, *NO_TYPOS_BY_WORD)]

    assert (far, near) == ([], [])
    assert by_words == [True] * len(TYPOS_BY_WORD) + [False] * len(NO_TYPOS_BY_WORD)


def test_other_scripts_are_transliterated() -> None:
    heard = {
        name: transliterated(name) for name in ("сбербанк", "ζαρα", "セフォラ", "삼성", "小米")
    }

    assert heard == {
        "сбербанк": "sberbank",
        "ζαρα": "zara",
        "セフォラ": "sefora",
        "삼성": "samseong",
        "小米": None,
    }
    assert "adidas" in transliterations("アディダス")
    assert transliterations("adidas") == ()


names = (
    st.text(st.sampled_from("aAbsé&+.-'™ co inc the group UK漢がüø\u0301"), max_size=16)
    | st.text()
)


@given(names, names)
def test_likeness_is_the_same_both_ways_and_decoration_never_leaves_the_brand(
    one: str, other: str
) -> None:
    a, b = name_keys(one), name_keys(other)

    assert likeness(one, other) == likeness(other, one)
    assert likeness(one, one) == EXACT
    if a.exact == b.exact:
        assert (a.spelling, a.company) == (b.spelling, b.company)
    if a.spelling:
        assert likeness(one, f" {one.upper()} ") >= SPELLING
        # "Gap Co" is not "Gap Co., Ltd."
        if not a.spelling.endswith(("co", "company", "the")):
            assert likeness(one, f"{one} Inc.") >= COMPANY


@given(names)
def test_a_name_is_alike_to_itself_however_it_is_decorated(name: str) -> None:
    heard = transliterated(name)
    assert heard is None or heard.isascii()
    if not name_keys(undecorated(name)).spelling or set(name) <= set("™®©℠ "):
        return

    assert close_forms(name) & close_forms(f" {name}™ ")
    for form in (close_forms, core_forms):
        assert form(name) == form(f"{name} ")
    if core_forms(name):
        assert alike(name, name)


keys = st.text(st.sampled_from("abcdeiost"), max_size=12)


@given(keys, keys)
def test_a_typo_weighs_by_letters_and_nothing_weighs_nothing(one: str, other: str) -> None:
    weight = typo_distance(one, other)

    assert (weight == 0.0) == (one == other)
    if one and other:
        # The lightest difference weighs 0.4, or all vowels together 0.9.
        assert weight * len(other) >= min(0.4 * OSA.distance(one, other), 0.9) * 0.49
