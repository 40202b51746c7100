"""Choice and order of the people shown.  Pure."""

from collections.abc import Callable, Sequence

from cs.domain.contact import CONTACTS, BrandFacts, LeftOut, Opinion, Person, RankedPerson
from cs.domain.names.employer import is_employer
from cs.domain.opinions import settled
from cs.domain.roles.doubt import Doubt, doubts
from cs.domain.roles.left_out import past_firms, why_left_out
from cs.domain.roles.piece import flat
from cs.domain.roles.role import JobRole, classify

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
    shown: list[tuple[tuple[float, float, str, str, str], RankedPerson]] = []
    left: list[LeftOut] = []
    for person in people:
        role = read(person.headline or "")
        if (opinion := said.get(person.person)) is not None:
            unsure = doubts_of(brand, person, role)
            role = settled(role, unsure, opinion, person.headline or "")
        if not role.eligible or not _works_there(person, role, brand):
            left.append(_left_out(person, role, brand))
        else:
            place = (
                float(_FAMILIES.index(role.family)),
                -role.score,
                person.full_name.casefold(),
                person.linkedin_url or "",
                person.person,
            )
            shown.append(
                (
                    place,
                    RankedPerson(
                        person=person.person,
                        title=role.title or "",
                        family=role.family,
                        level=role.level,
                        score=role.score,
                    ),
                )
            )
    shown.sort(key=lambda entry: entry[0])
    left.extend(LeftOut(ranked.person, "over-limit") for _, ranked in shown[limit:])
    return tuple(ranked for _, ranked in shown[:limit]), tuple(left)


def _left_out(person: Person, role: JobRole, brand: BrandFacts) -> LeftOut:
    why = why_left_out(person.headline or "", role, _companies(person, role), _names(brand))
    return LeftOut(person.person, why)


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
