"""Who is one person, seen by several sources."""

from itertools import permutations

from cs.domain.contact import Sighting
from cs.domain.lookup.contacts import people_among

PAGE = "https://www.linkedin.com/in/ada-kern"


def seen(name: str, company: str | None = "Acme", url: str | None = None) -> Sighting:
    return Sighting(full_name=name, company=company, linkedin_url=url, source="any")


#: Sightings, and how many people they are, in whichever order they come.
CASES: list[tuple[int, tuple[Sighting, ...]]] = [
    (1, (seen("Ada Kern", url=PAGE), seen("Ada M. Kern", "Acme Ltd", PAGE.upper()))),
    (1, (seen("Ada Kern", url=PAGE), seen("ADA KERN", "acme"))),
    (1, (seen("Ada Kern"), seen("Ada Kern"))),
    (2, (seen("Ada Kern", url=PAGE), seen("Ada Kern", url=PAGE + "-2"))),
    (2, (seen("Ada Kern", url=PAGE), seen("Ada Kern", "Globex"))),
    (2, (seen("Ada Kern"), seen("Ada Kern", None))),
]


def test_the_same_person_from_several_sources_is_one() -> None:
    wrong = []
    for count, sightings in CASES:
        for order in permutations(sightings):
            found = people_among(order)
            if len(found) != count:
                wrong.append(f"{order}: {len(found)}")
            later = people_among(order, found)
            if later:
                wrong.append(f"{order}: again {later}")
    assert not wrong, "\n".join(wrong)
