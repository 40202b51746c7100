"""Reason why a found person is not shown, from headline and company.  Pure.

It explains what was decided (`cs.domain.ranking`) and decides nothing: the first reason that
the words give, from the plainest calling on.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from cs.domain.names.plain_text import plain
from cs.domain.roles.labels import is_creator
from cs.domain.roles.piece import flat, piece
from cs.domain.roles.role import JobRole, classify
from cs.domain.roles.segments import AT, former, now

#: Why a person found is not ranked, as it is stored.
#:
#: ``recruiter``: finds people for others' roles.  ``creator``: is one, and works with none.
#: ``agency``: of an agency, which serves brands.  ``seller``: of a firm whose product is for
#: influencer marketing.  ``former``: had such a role, or worked for the brand, and does not
#: today.  ``namesake``: of another company whose name has the brand's in it.
#: ``other-company``: of any other.  ``not-eligible``: none of the four families, or below
#: manager.  ``over-limit``: more people than are shown.
Why = Literal[
    "recruiter",
    "creator",
    "agency",
    "seller",
    "former",
    "namesake",
    "other-company",
    "not-eligible",
    "over-limit",
]

#: Between the callings of one headline.
_PIECES = re.compile(r"\s*[|•·;/&+]\s*|\s+(?:[-–—]|and|und|et|y|e|og|och|en|i)\s+|,\s+")
#: What dates a role to the past, as written: "(2019-2021)", "until 2021".
_DATED = re.compile(
    r"[(\[][^()\[\]]*\d{4}[^()\[\]]*[)\]]|\b(?:19|20)\d\d\s?[-–—]\s?(?:19|20)?\d\d\b"
)
#: Between the firms that a person has left.
_FIRMS = re.compile(r"[,;/&+|•·()\[\]]|\s(?:and|und|et|y|e|og|och|en|i|[-–—])\s")
#: Characters behind a word for the past in which the firm of then is named.
_BEHIND = 80
#: Words for the past that are read in one headline.
_PASTS = 20


def why_left_out(
    headline: str, role: JobRole, companies: Sequence[str], brand: Iterable[str]
) -> Why:
    """Return why a person is not shown whose *role*, read from *headline*, does not qualify.

    Args:
        headline: As the person wrote it.
        role: Read of it: not eligible, or held at none of the names in *brand*.
        companies: Where they work, as they or a source say.
        brand: What the brand, and its parent, are called.

    >>> why_left_out("Recruiter for brand roles", classify("Recruiter"), [], ["Acme"])
    'recruiter'
    """
    written = plain(headline)
    if piece(written).has("recruiter"):
        return "recruiter"
    if not role.eligible and _is_creator(written, role):
        return "creator"
    names = [name for each in brand if (name := flat(plain(each)))]
    if _was_there(written, names):
        return "former"
    firms = " ".join(flat(plain(company)) for company in companies)
    kinds = piece(written).kinds | piece(firms).kinds
    if "agency" in kinds:
        return "agency"
    if {"influencer", "product"} <= kinds:
        return "seller"
    if role.eligible:
        return "namesake" if _holds_any(firms, names) else "other-company"
    if "influencer" in kinds and piece(written).has("selling", "founder"):
        return "seller"
    return "former" if _held_one(written) else "not-eligible"


def _is_creator(written: str, role: JobRole) -> bool:
    """Say whether one of the callings, where they stand side by side, is a creator's."""
    pieces = _PIECES.split(written if role.title is None else role.title)
    return any(is_creator(piece) for piece in pieces if piece)


def past_firms(headline: str) -> tuple[str, ...]:
    """Return what may be a firm of the past, as written, in order.

    >>> past_firms("Head of Social, formerly at Acme, Zeta")
    ('Acme', 'Zeta')
    """
    firms: list[str] = []
    for behind in _behind_pasts(plain(headline)):
        turn = now(behind)
        for each in _FIRMS.split(behind[: turn[0]] if turn else behind):
            at = AT.search(each)
            firms.append((each[at.end() :] if at else each).strip(" .:"))
    return tuple(filter(None, firms))


def _behind_pasts(written: str) -> Iterator[str]:
    """Yield what stands behind each word for the past."""
    turn = former(written)
    for _ in range(_PASTS):
        if turn is None:
            return
        yield written[turn[1] : turn[1] + _BEHIND].partition("|")[0]
        turn = former(written, turn[1])


def _was_there(written: str, names: Sequence[str]) -> bool:
    """Say whether a word for the past stands before one of *names*: "ex-Acme"."""
    return any(_holds_any(flat(behind), names) for behind in _behind_pasts(written))


def _holds_any(text: str, names: Iterable[str]) -> bool:
    """Say whether *text*, flat, has one of the flat *names* in it, as whole words."""
    return any(f" {name} " in f" {text} " for name in names)


def _held_one(written: str) -> bool:
    """Say whether *written* would name a role of today without its words for the past."""
    undated = _DATED.sub(" ", written)
    past = former(undated)
    if past is not None:
        return classify(undated[past[1] :].strip(" ,:-–|")).eligible
    return undated != written and classify(undated).eligible
