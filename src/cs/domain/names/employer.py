"""Comparison of a company, as people write it, with the brand and its parent.  Pure."""

from collections.abc import Iterable
from functools import lru_cache

from cs.domain.names.brand_match import COMPANY, likeness
from cs.domain.roles.piece import piece

#: Answers that are remembered: the people of a brand name the same few companies.
_REMEMBERED = 4_096
#: Words behind its name that mean all of a company, and no trade.
_ALL_OF_IT = frozenset(
    {"group", "global", "international", "worldwide", "hq", "official", "and", "&"}
)


def is_employer(company: str, names: Iterable[str]) -> bool:
    """Say whether *company* is one of *names*, or its branch somewhere.

    "Acme Robotics" is not "Acme": a company that adds a trade is another one until
    it is named so.

    >>> is_employer("Acme Germany GmbH", ["Acme"]), is_employer("Acme Robotics", ["Acme"])
    (True, False)
    """
    return any(_is_branch(company, name) for name in names)


@lru_cache(_REMEMBERED)
def _is_branch(company: str, name: str) -> bool:
    words = company.replace("(", " ").replace(")", " ").replace(",", " ").split()
    for count in range(1, len(words) + 1):
        head, rest = " ".join(words[:count]), words[count:]
        while rest and likeness(f"{head} {rest[-1]}", head) >= COMPANY:
            rest = rest[:-1]  # a legal form
        place = " ".join(word for word in rest if word.casefold() not in _ALL_OF_IT)
        if likeness(head, name) >= COMPANY and (not place or piece(place).is_place):
            return True
    return False
