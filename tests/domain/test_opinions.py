"""Opinions on headlines: what they may change, and what is sent for them."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.contact import BrandFacts, Opinion, Person
from cs.domain.names.plain_text import folded
from cs.domain.opinions import HIDDEN, nameless, settled
from cs.domain.ranking import doubts_of, rank
from cs.domain.roles.doubt import OPEN, Doubt
from cs.domain.roles.labels import Family, Level
from cs.domain.roles.role import classify

ACME = BrandFacts(name="Acme")
DATA = Path(__file__).parent / "data"
HEADLINES = [
    json.loads(line)["headline"]
    for file in ("sample_titles.jsonl", "construction_titles.jsonl")
    for line in (DATA / file).read_text().splitlines()
]
#: A headline for each doubt.
UNSURE = {
    "Brand Manager Zorbification at Acme": Doubt.UNKNOWN_WORDS,
    "Markenmanger at Acme": Doubt.NO_LEVEL,
    "Zorbification Manager at Acme": Doubt.NO_FAMILY,
    "Goat Farmer | Social Media Manager at Acme": Doubt.SEVERAL_ROLES,
    "our Head of Brand search is open": Doubt.SENTENCE,
    "ბრენდის მენეჯერი at Acme": Doubt.UNKNOWN_SCRIPT,
    "Social Media Manager at Zenith, with Acme": Doubt.OTHER_COMPANY,
}
#: Clear, one way or the other.
CLEAR = (
    "Head of Influencer Marketing at Acme",
    "Assistant to the Head of Influencer Marketing at Acme",
    "Former Social Media Manager at Acme",
    "Software Engineer at Acme",
    "Influencer",
    "",
)

OPINIONS = st.builds(
    Opinion,
    person=st.just("p1"),
    family=st.sampled_from([*(each.value for each in Family), "sorcery"]),
    level=st.sampled_from([each.value for each in Level]),
    title=st.none() | st.sampled_from(["Manager", "Head of Brand"]) | st.text(max_size=9),
    company=st.none() | st.sampled_from(["Acme", "Zenith"]) | st.text(max_size=9),
)
SAID = st.sampled_from([*HEADLINES, *UNSURE, *CLEAR])


def somebody(headline: str) -> Person:
    return Person(person="p1", full_name="Jo Lane", headline=headline)


def test_each_doubt_has_a_headline_and_clear_ones_have_none() -> None:
    def found(headline: str) -> frozenset[Doubt]:
        return doubts_of(ACME, somebody(headline), classify(headline))

    wrong = [headline for headline, doubt in UNSURE.items() if doubt not in found(headline)]
    wrong += [headline for headline in CLEAR if found(headline)]
    assert wrong == []
    assert set(UNSURE.values()) == set(Doubt) == OPEN.keys()


@pytest.mark.slow
@given(SAID, OPINIONS)
def test_no_opinion_overrules_what_is_clear(headline: str, opinion: Opinion) -> None:
    role = classify(headline)
    unsure = doubts_of(ACME, somebody(headline), role)
    is_open = {part for doubt in unsure for part in OPEN[doubt]}

    after = settled(role, unsure, opinion, headline)

    if not unsure:
        assert after == role
        people = [somebody(headline)]
        assert rank(ACME, people, opinions=[opinion]) == rank(ACME, people)
    for part in {"family", "level", "company"} - is_open:
        assert getattr(after, part) == getattr(role, part)
    for quoted in {after.title, after.company} - {role.title, role.company}:
        assert quoted is not None
        assert quoted in headline
    assert after.title or not after.eligible


def test_an_opinion_decides_what_is_unsure_and_only_if_it_agrees_with_the_rest() -> None:
    cases = (
        # headline, family, level, company: who is shown as what
        ("Brand Manager Zorbification at Acme", "other", "manager", None, None),
        ("Brand Manager Zorbification at Acme", "brand", "manager", None, "brand"),
        ("Markenmanger at Acme", "brand", "manager", None, "brand"),
        ("Markenmanger at Acme", "social", "manager", None, None),  # the family is clear
        ("Zorbification Manager at Acme", "social", "manager", None, "social"),
        ("Zorbification Manager at Acme", "social", "head", None, None),  # the level is
        ("Social Media Manager at Zenith, with Acme", "social", "manager", "Acme", "social"),
        ("Social Media Manager at Zenith, with Acme", "social", "manager", "Zenith", None),
        ("Social Media Manager at Zenith, with Acme", "brand", "manager", "Acme", None),
        ("Former Social Media Manager at Acme", "social", "manager", "Acme", None),
    )
    wrong = []
    for headline, family, level, company, shown_as in cases:
        opinion = Opinion(person="p1", family=family, level=level, company=company)
        shown, _ = rank(ACME, [somebody(headline)], opinions=[opinion])
        if [each.family for each in shown] != ([shown_as] if shown_as else []):
            wrong.append((headline, family, level, company, shown))
    assert wrong == []


def test_no_name_is_in_what_is_sent() -> None:
    jo = Person(
        person="p1", full_name="Jo-Ann O'Lane-Söder", first_name="Jo-Ann", last_name="Söder"
    )
    cases = {
        "JO-ANN O'LANE-SÖDER | Brand Lead": f"{HIDDEN} | Brand Lead",
        "Söder: Brand Lead at Acme": f"{HIDDEN}: Brand Lead at Acme",
        "Jo-Ann Soder, Brand Lead": f"{HIDDEN} {HIDDEN}, Brand Lead",
        "Brand Lead, linkedin.com/in/jo-ann-1": f"Brand Lead, {HIDDEN}",
        "Brand Lead https://jo.example/x?y": f"Brand Lead {HIDDEN}",
        "Brand Lead (jo@acme.example)": f"Brand Lead ({HIDDEN})",
        "Brand Lead +49 170 1234567": f"Brand Lead {HIDDEN}",
        "Brand Lead since 2021": "Brand Lead since 2021",
    }
    assert {said: nameless(said, jo) for said in cases} == cases


@pytest.mark.parametrize(
    ("name", "headline", "sent"),
    [
        ("山田 太郎", "山田太郎です | ブランド", "[...]です | ブランド"),
        ("민수 김", "김민수 브랜드 매니저", "[...] 브랜드 매니저"),
        ("Jo Lane", "JoLane | Brand Lead | @jolane_", "[...] | Brand Lead | @[...]_"),
        ("José Núñez", "Jose\u0301 Nu\u0301n\u0303ez, Brand Lead", "[...], Brand Lead"),
        ("An Na", "Banana brand lead", "Banana brand lead"),
    ],
)
def test_a_name_is_not_sent_either_where_its_words_are_written_together(
    name: str, headline: str, sent: str
) -> None:
    assert nameless(headline, Person(person="p1", full_name=name)) == sent


WORDS = st.lists(st.from_regex(r"[a-zäéßо]{2,8}", fullmatch=True), min_size=1, max_size=3)


@pytest.mark.slow
@given(WORDS, WORDS, st.sampled_from([" ", "-", ", ", "'", " | "]))
def test_no_word_of_a_name_is_sent_however_it_is_written(
    name: list[str], others: list[str], joint: str
) -> None:
    person = Person(person="p1", full_name=" ".join(name).title())

    sent = nameless(joint.join([*others, *name, *others]).upper(), person)

    words = folded(sent.replace(HIDDEN, " ")).replace("'", " ")
    assert not {folded(piece) for piece in name} & set(re.split(r"\W+", words))
