"""A made-up world of many brands in which it is known who is right, for measuring.

What is drawn: how many people a brand has in a role and out of it, how it makes addresses,
what its mail server does, who came from another brand and whether their old mailbox is still
open.  Nothing of it is told to the service but through the sandbox.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from cs.sandbox.consistency import contradictions
from cs.sandbox.drawing import fold
from cs.sandbox.shapes import World

FIRST = """
    Amara Tomasz Priya Callum Ines Hannah Maja Mateo Eleanor Kwame Carlo Silvia Brooke Elif
    Dmitri Farah Gareth Lena Jonah Giulia Noor Pavel Sanne Yuki Olga Bjorn Chloe Diego
    Esther Felix Greta Hugo Irina Jasper Katya Liam Mona Nadia Oscar Paula Quentin Rosa
    Stefan Tara Umar Vera Wanda Xavier Yara Zeno
""".split()  # noqa: SIM905  # lines read better than fifty
LAST = """
    Okafor Zielinski Raman Reid Cardoso Lindqvist Ekstrom Ibarra Whitcombe Mensah Bassi
    Moretti Castellano Yilmaz Sokolov Haddad Pugh Hofmann Whitlock Ferraro Novak Berger
    Dubois Tanaka Larsen Keller Moreau Santos Weber Rossi Fischer Jansen Kowalski Lopez
    Martin Nilsson Oliveira Petrov Quist Romero Schmidt Torres Ullmann Vargas Wagner Young
    Zimmer Albrecht Brandt Conti
""".split()  # noqa: SIM905  # lines read better than fifty
#: In a role that is looked for, manager and up.
ELIGIBLE = (
    "Head of Influencer Marketing",
    "Influencer Marketing Manager",
    "Senior Influencer Marketing Manager",
    "Creator Partnerships Manager",
    "Director of Influencer Marketing",
    "Social Media Manager",
    "Head of Social Media",
    "Senior Social Media Manager",
    "Brand Partnerships Manager",
    "Head of Partnerships",
    "Brand Marketing Manager",
    "Director of Brand Marketing",
    "Brand Manager",
    "VP, Brand Marketing",
)
#: Not in one: other trades, and those who begin.
OTHERS = (
    "Packaging Engineer",
    "Senior Brand Designer",
    "Influencer Marketing Coordinator",
    "Social Media Intern",
    "Supply Chain Manager",
    "Software Engineer",
    "Customer Care Manager",
    "Store Manager",
)
#: How often companies make addresses each way, in thousandths: the measured shares of
#: `cs.domain.mail.patterns`; what is rarer is left out.
CONVENTIONS: Mapping[str, tuple[int, Callable[[str, str], str]]] = {
    "first.last": (361, lambda first, last: f"{first}.{last}"),
    "flast": (232, lambda first, last: f"{first[:1]}{last}"),
    "first": (229, lambda first, _: first),
    "last": (38, lambda _, last: last),
    "firstl": (25, lambda first, last: f"{first}{last[:1]}"),
    "firstlast": (23, lambda first, last: f"{first}{last}"),
    "last.first": (21, lambda first, last: f"{last}.{first}"),
}
#: What mail servers do, in hundredths of the brands.
MAIL: Sequence[tuple[int, Mapping[str, Any]]] = (
    (65, {"kind": "plain"}),
    (12, {"kind": "catch_all"}),
    (6, {"kind": "greylisting", "hint_s": 2}),
    (9, {"kind": "refuses_us"}),
    (4, {"kind": "one_recipient"}),
    (4, {"kind": "starttls_only"}),
)
_TEAM, _TEAM_WEIGHTS = (1, 2, 3, 4, 5, 6, 8, 11, 14), (6, 14, 18, 18, 14, 12, 9, 5, 4)
_KNOWN_BY = (
    (84, ("wikidata", "website", "searxng")),
    (8, ("website", "searxng")),  # no free brand source knows the name
    (8, ("wikidata", "website")),
)
_CAME_FROM_ELSEWHERE, _LEFT_OPEN, _OWN_WAY = 0.3, 0.15, 0.06
#: Of names that nobody bears.
SYLLABLES = (
    "ba",
    "co",
    "du",
    "fe",
    "gi",
    "ka",
    "lo",
    "mu",
    "ne",
    "po",
    "ri",
    "sa",
    "ta",
    "ve",
)


class BrandTruth(NamedTuple):
    """What is so at one brand.

    Attributes:
        in_role: Full name of everybody in a role there now, with their address.
        provable: Whether a mailbox of its mail domain can be proved by anybody.
    """

    name: str
    domain: str
    in_role: Mapping[str, str]
    provable: bool


class MeasuredWorld(NamedTuple):
    """A world and what is true of it.

    Attributes:
        mailboxes: Every address that takes mail and is no catch-all's.
    """

    world: World
    brands: Sequence[BrandTruth]
    mailboxes: frozenset[str]


def measured_world(brands: int, seed: int = 20_261_123, **parts: Any) -> MeasuredWorld:
    """Return a world of so many *brands*; *parts* are further fields of its file."""
    rnd = random.Random(seed)
    names = _brand_names(brands, rnd)
    drafts = [_draft(name, rnd) for name in names]
    opened: dict[str, dict[str, str]] = defaultdict(dict)
    for draft in drafts:
        _hire(draft, drafts, opened, rnd)
    document = {
        "seed": seed % 2**31,
        "services": {"searxng": {"coverage": 0.7}},
        "brands": [_told(draft) for draft in drafts],
        "mail": [
            {
                "domain": draft["domain"],
                "behaviour": draft["mail"],
                "mailboxes": opened[draft["domain"]],
            }
            for draft in drafts
        ],
        **parts,
    }
    world = msgspec.convert(document, World)
    assert not contradictions(world), contradictions(world)[:3]
    return MeasuredWorld(world, [_truth(draft) for draft in drafts], _mailboxes(drafts, opened))


def _brand_names(number: int, rnd: random.Random) -> list[str]:
    names: dict[str, None] = {}
    while len(names) < number:
        name = "".join(rnd.choices(SYLLABLES, k=3)).title() + rnd.choice(("lle", "ra", "nd"))
        names[name] = None
    return list(names)


def _draft(name: str, rnd: random.Random) -> dict[str, Any]:
    kinds, weights = [kind for _, kind in MAIL], [weight for weight, _ in MAIL]
    known_by, known_weights = [who for _, who in _KNOWN_BY], [w for w, _ in _KNOWN_BY]
    return {
        "name": name,
        "domain": f"{name.lower()}.test",
        "mail": rnd.choices(kinds, weights)[0],
        "known_by": rnd.choices(known_by, known_weights)[0],
        "convention": rnd.choices(
            list(CONVENTIONS), [weight for weight, _ in CONVENTIONS.values()]
        )[0],
        "people": [],
        "in_role": {},
    }


def _hire(
    draft: dict[str, Any],
    drafts: Sequence[dict[str, Any]],
    opened: dict[str, dict[str, str]],
    rnd: random.Random,
) -> None:
    team = rnd.choices(_TEAM, _TEAM_WEIGHTS)[0]
    taken: set[str] = set()
    for number in range(team + rnd.randint(1, 4)):
        full_name = f"{rnd.choice(FIRST)} {rnd.choice(LAST)}"
        first, last = fold(full_name).split()
        mailbox = CONVENTIONS[draft["convention"]][1](first, last)
        if rnd.random() < _OWN_WAY:
            mailbox = f"{first}{rnd.randint(2, 99)}"
        if mailbox in taken or any(p["name"] == full_name for p in draft["people"]):
            continue
        taken.add(mailbox)
        in_role = number < team
        headline = rnd.choice(ELIGIBLE if in_role else OTHERS)
        person: dict[str, Any] = {"name": full_name, "headline": headline, "mailbox": mailbox}
        if rnd.random() < _CAME_FROM_ELSEWHERE:
            before = rnd.choice([each for each in drafts if each is not draft])
            person["before"] = {"brand": before["name"], "headline": rnd.choice(ELIGIBLE)}
            if rnd.random() < _LEFT_OPEN:
                was = CONVENTIONS[before["convention"]][1](first, last)
                opened[before["domain"]].setdefault(was, "open")
        draft["people"].append(person)
        if in_role:
            draft["in_role"][full_name] = f"{mailbox}@{draft['domain']}"


def _told(draft: Mapping[str, Any]) -> dict[str, Any]:
    handle = draft["name"].lower()
    pages = dict.fromkeys(("linkedin", "instagram", "tiktok"), handle)
    told = {name: draft[name] for name in ("name", "domain", "known_by", "people")}
    # What a search is meant to end with is not what is measured here.
    return {**told, **pages, "intends": {"outcome": "no_contacts"}}


def _truth(draft: Mapping[str, Any]) -> BrandTruth:
    provable = draft["mail"]["kind"] != "catch_all"
    return BrandTruth(draft["name"], draft["domain"], draft["in_role"], provable)


def _mailboxes(
    drafts: Sequence[Mapping[str, Any]], opened: Mapping[str, Mapping[str, str]]
) -> frozenset[str]:
    return frozenset(
        f"{local}@{draft['domain']}"
        for draft in drafts
        if draft["mail"]["kind"] != "catch_all"
        for local in (*(p["mailbox"] for p in draft["people"]), *opened[draft["domain"]])
    )
