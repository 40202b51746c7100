"""The people of one live run: each is one person, however often seen.  Pure."""

from collections.abc import Sequence

from cs.domain.contact import Person, Sighting
from cs.domain.lookup.state import Lookup
from cs.domain.names.person_name import split_name

#: People of one lookup; bounds its events.
PEOPLE = 100


def new_people(state: Lookup, seen: Sequence[Sighting]) -> tuple[Person, ...]:
    """Return those of *seen* who are new, numbered on; the same person twice is one."""
    known = {_identity(p.linkedin_url, p.full_name, p.company) for p in state.people}
    new: list[Person] = []
    for sighting in seen:
        identity = _identity(sighting.linkedin_url, sighting.full_name, sighting.company)
        if identity in known or len(state.people) + len(new) >= PEOPLE:
            continue
        known.add(identity)
        first, last = split_name(sighting.full_name)
        new.append(
            Person(
                person=f"p{len(state.people) + len(new) + 1}",
                full_name=sighting.full_name,
                first_name=sighting.first_name or first,
                last_name=sighting.last_name or last,
                headline=sighting.headline,
                company=sighting.company,
                linkedin_url=sighting.linkedin_url,
                location=sighting.location,
                addresses=sighting.addresses,
                sources=(sighting.source,),
            )
        )
    return tuple(new)


def _identity(url: str | None, name: str, company: str | None) -> str:
    """Return what makes a person one: the profile address, else name and company."""
    return url.casefold() if url else f"{name.casefold()}|{(company or '').casefold()}"
