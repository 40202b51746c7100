"""Who of the people found is shown, and in which order.  Pure."""

from collections.abc import Sequence

from cs.domain.contact import BrandFacts, LeftOut, Person, Ranked
from cs.domain.name_match import DIFFERENT, best_likeness
from cs.domain.role import Role, classify

#: Contacts of one search.  Not part of the contract (CONTRACT.md S6).
CONTACTS = 25

_FAMILIES = ("influencer", "social", "partnerships", "brand")


def rank(
    brand: BrandFacts, people: Sequence[Person], *, limit: int = CONTACTS
) -> tuple[tuple[Ranked, ...], tuple[LeftOut, ...]]:
    """Return who is shown, best first, and who is left out and why.

    The order is total, so replays are byte-equal: role family in the order of SPEC.md
    1.3, seniority (the classifier's score), then name and profile address
    (CONTRACT.md S5).

    Args:
        brand: The brand asked for; people whose current company is neither it nor its
            parent are left out as "other-company".
        people: Everybody found, in any order.
        limit: At most this many are shown; the others are "over-limit".
    """
    shown: list[tuple[tuple[float, float, str, str], Ranked]] = []
    left: list[LeftOut] = []
    for person in people:
        role = classify(person.headline or "")
        if not role.eligible:
            left.append(LeftOut(person.person, "not-eligible"))
        elif not _works_there(person, role, brand):
            left.append(LeftOut(person.person, "other-company"))
        else:
            place = (
                float(_FAMILIES.index(role.family)),
                -role.score,
                person.full_name.casefold(),
                person.linkedin_url or "",
            )
            shown.append(
                (
                    place,
                    Ranked(
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


def _works_there(person: Person, role: Role, brand: BrandFacts) -> bool:
    names = [brand.name, *brand.aliases]
    if brand.parent_company:
        names.append(brand.parent_company)
    says = [company for company in (role.company, person.company) if company]
    if not says:
        return True  # the source found them for this brand and nothing speaks against it
    return any(is_company(company, names) for company in says)


def is_company(company: str, names: Sequence[str]) -> bool:
    """Tell whether *company* is one of *names*, or its branch for a region.

    >>> is_company("Acme GmbH", ["Acme"]), is_company("Acme EMEA", ["Acme"])
    (True, True)
    >>> is_company("Delta Faucet", ["Delta"])
    False
    """
    if best_likeness(company, names) > DIFFERENT:
        return True
    words = company.casefold().split()
    while len(words) > 1 and words[-1].strip("().,") in _BRANCHES:
        words.pop()
        if best_likeness(" ".join(words), names) > DIFFERENT:
            return True
    return False


#: Words behind a company's name that tell which part of it, not another company.
_BRANCHES = frozenset(
    """
    uk us usa eu emea apac latam dach nordics benelux europe america americas asia global
    international worldwide group germany deutschland france spain italy italia canada
    australia japan china india mexico brasil brazil nederland netherlands
    """.split()  # noqa: SIM905  reads better than thirty quoted words
)
