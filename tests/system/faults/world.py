"""A world of quick brands that end in several ways, for runs that kill the service."""

from collections.abc import Iterator
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any

import msgspec

from cs.sandbox.world import WorldSearch, listing, load

_HEADS = ("Bran", "Cor", "Del", "Fen", "Gal", "Hol", "Kest", "Lum", "Mar", "Nor", "Quil", "Tav")
_TAILS = ("ovia", "umbrel", "ickson", "etta", "andro", "ystone", "ulane", "ebrook")
_FIRST = ("Ida", "Omar", "Lena", "Hugo", "Mina", "Paul", "Rosa", "Sven", "Tara", "Yann")
_LAST = ("Nyman", "Keller", "Osei", "Varga", "Lund", "Moreau", "Ricci", "Tanaka", "Wolfe")
#: How brands end, over and over.
_KINDS = ("done", "two", "greylisted", "nobody", "done", "catch-all", "two", "no-mailbox")
_OUTCOMES = {"nobody": "no_contacts", "catch-all": "no_emails", "no-mailbox": "no_emails"}
_BEHAVIOURS = {
    "greylisted": {"kind": "greylisting", "hint_s": 1},
    "catch-all": {"kind": "catch_all"},
}


class Wish(msgspec.Struct, frozen=True):
    """Something to ask for, as the body of a call, and how it must end."""

    body: dict[str, str]
    outcome: str
    verified: frozenset[str]


def make_world(file: Path, brands: int) -> Path:
    """Write a world of *brands* brands, at most 96, into *file*."""
    names = [head + tail for tail, head in product(_TAILS, _HEADS)]
    assert brands <= len(names)
    made = [
        _brand(name, kind, number)
        for number, (name, kind) in enumerate(zip(names[:brands], cycle(_KINDS), strict=False))
    ]
    mail = [entry for _, entry in made if entry]
    file.write_bytes(
        msgspec.json.encode({"brands": [brand for brand, _ in made], "mail": mail})
    )
    return file


def wishes(world: Path) -> list[Wish]:
    """Return every way of asking for everything in *world*."""
    return [_wish(row, way) for row in listing(load(world)) for way in row.asked_by]


def _wish(row: WorldSearch, way: str) -> Wish:
    fields = {"brand": row.brand, "domain": row.domain}
    if way != "both":
        fields = {way: fields[way]}
    body = {name: value for name, value in fields.items() if value}
    return Wish(body, row.outcome, frozenset(row.verified))


def _brand(name: str, kind: str, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a brand and its entry under ``mail``."""
    domain = f"{name.lower()}.test"
    people = list(islice(_people(name, number), 2 if kind == "two" else 1))
    if kind == "nobody":
        people[0]["headline"] = f"Graphic Designer at {name}"
    if kind == "no-mailbox":
        people[0]["mailbox"] = None
    outcome = _OUTCOMES.get(kind, "done")
    verified = [f"{person['mailbox']}@{domain}" for person in people if outcome == "done"]
    brand = {
        "name": name,
        "domain": domain,
        "linkedin": name.lower(),
        "people": people,
        "intends": {"outcome": outcome, "verified": verified},
    }
    behaviour = _BEHAVIOURS.get(kind)
    return brand, {"domain": domain, "behaviour": behaviour} if behaviour else {}


def _people(brand: str, number: int) -> Iterator[dict[str, Any]]:
    titles = ("Head of Influencer Marketing", "Social Media Manager")
    for place, title in enumerate(titles):
        first = _FIRST[(number + place * 3) % len(_FIRST)]
        last = _LAST[(number + place * 4) % len(_LAST)]
        yield {
            "name": f"{first} {last}",
            "headline": f"{title} at {brand}",
            "mailbox": f"{first}.{last}".lower(),
        }
