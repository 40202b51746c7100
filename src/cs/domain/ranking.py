"""Choice and order of the people shown.  Pure."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from cs.domain.contact import CONTACTS, BrandFacts, LeftOut, Opinion, Person, RankedPerson
from cs.domain.names.employer import is_employer
from cs.domain.names.plain_text import plain
from cs.domain.opinions import settled
from cs.domain.roles.doubt import Doubt, doubts
from cs.domain.roles.labels import is_creator
from cs.domain.roles.piece import flat, piece
from cs.domain.roles.role import JobRole, classify
from cs.domain.roles.segments import AT, former, now

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
_FAMILIES = ("influencer", "social", "partnerships", "brand")


def rank(
    brand: BrandFacts,
    people: Sequence[Person],
    *,
    limit: int = CONTACTS,
    read: Callable[[str], JobRole] = classify,
    opinions: Sequence[Opinion] = (),
) -> tuple[tuple[RankedPerson, ...], tuple[LeftOut, ...]]:
    """Return who is shown, best first, and who is left out and why.

    The order is total, so replays are byte-equal: role family in the order of contract text
    1.3, seniority (the classifier's score), then name and profile address
    (contract S5), and for people alike in all of that the id they have in the lookup.

    Args:
        brand: The brand asked for; people whose current company is neither it nor its
            parent are left out.
        people: All found, in any order.
        limit: At most this many are shown; the others are "over-limit".
        read: Reads a headline; for who ranks many people again, one that remembers.
        opinions: Second opinions on headlines; on a clear one they change nothing.
    """
    said = {each.person: each for each in opinions}
    names = _names(brand)
    shown: list[tuple[JobRole, Person]] = []
    left: list[LeftOut] = []
    for person in people:
        headline = person.headline or ""
        role = read(headline)
        if (opinion := said.get(person.person)) is not None:
            role = settled(role, doubts_of(brand, person, role), opinion, headline)
        if role.eligible and _works_there(person, role, brand):
            shown.append((role, person))
        else:
            why = why_left_out(headline, role, _companies(person, role), names)
            left.append(LeftOut(person.person, why))
    shown.sort(key=lambda each: _place(*each))
    left += [LeftOut(person.person, "over-limit") for _, person in shown[limit:]]
    ranked = tuple(
        RankedPerson(
            person=person.person,
            title=role.title or "",
            family=role.family,
            level=role.level,
            score=role.score,
        )
        for role, person in shown[:limit]
    )
    return ranked, tuple(left)


def _place(role: JobRole, person: Person) -> tuple[int, float, str, str, str]:
    family, page = _FAMILIES.index(role.family), person.linkedin_url or ""
    return family, -role.score, person.full_name.casefold(), page, person.person


def doubts_of(brand: BrandFacts, person: Person, role: JobRole) -> frozenset[Doubt]:
    """Return why the rules are unsure of *person*, of whose headline they read *role*."""
    headline = person.headline or ""
    found = doubts(headline, role)
    if role.eligible and not _works_there(person, role, brand):
        text = f" {flat(headline)} "
        if any(f" {flat(name)} " in text for name in _names(brand) if flat(name)):
            found |= {Doubt.OTHER_COMPANY}
    return found


def _names(brand: BrandFacts) -> list[str]:
    parents = [brand.parent_company] if brand.parent_company else []
    return [brand.name, *brand.aliases, *parents]


def _companies(person: Person, role: JobRole) -> list[str]:
    return [company for company in (role.company, person.company) if company]


def _works_there(person: Person, role: JobRole, brand: BrandFacts) -> bool:
    names = _names(brand)
    says = _companies(person, role)
    if not says:
        # The source found them for this brand; do they say themselves that they left it?
        return not any(is_employer(firm, names) for firm in past_firms(person.headline or ""))
    return any(is_employer(company, names) for company in says)


# The reason why a person is left out explains the decision, and decides nothing.
def why_left_out(
    headline: str, role: JobRole, companies: Sequence[str], brand: Iterable[str]
) -> str:
    """Return why a person is not shown whose *role*, read from *headline*, does not qualify.

    Args:
        headline: As the person wrote it.
        role: Read of it: not eligible, or held at none of the names in *brand*.
        companies: Where they work, as they or a source say.
        brand: What the brand, and its parent, are called.

    Returns:
        ``recruiter``: finds people for others' roles.  ``creator``: is one, and works with
        none.  ``agency``: of an agency, which serves brands.  ``seller``: of a firm whose
        product is for influencer marketing.  ``former``: had such a role, or worked for the
        brand, and does not today.  ``namesake``: of another company whose name has the brand's
        in it.  ``other-company``: of any other.  ``not-eligible``: none of the four families,
        or below manager.

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
