"""What a file of people has of a world: part of it, some of it old or wrong."""

import re
from collections import defaultdict
from collections.abc import Sequence

import msgspec

from cs.domain.mail.patterns import TEMPLATES, local_part
from cs.sandbox.drawing import drawn
from cs.sandbox.folding import fold
from cs.sandbox.page_index import profile_slug
from cs.sandbox.provider_shapes import PeopleFile
from cs.sandbox.shapes import Brand, Person, World

_USUAL = "first.last"


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One entry.

    Attributes:
        id: Of the entry.
        employer: Where the file has them.
        headline: Their title there.
        slug: Of their profile.
        address: At the employer's mail domain, if the file has one.
    """

    id: str
    person: Person
    employer: Brand
    headline: str
    slug: str
    address: str | None = None

    @property
    def names(self) -> tuple[str, str]:
        first, _, last = self.person.name.partition(" ")
        return first, last


class PeopleRecords:
    """The records of one provider, by employer.

    Args:
        world: Whose people.
        name: The provider's: another one knows others.
        file: How much it knows, and how well.
    """

    def __init__(self, world: World, name: str, file: PeopleFile) -> None:
        self._world, self._name, self._file = world, name, file
        self._brands = {brand.name: brand for brand in world.brands}
        found: dict[str, list[Record]] = defaultdict(list)
        for brand in world.brands:
            for person in brand.people:
                record = self._record(brand, person)
                if record is not None:
                    found[record.employer.domain].append(record)
        self._by_domain = found
        self._by_id = {record.id: record for each in found.values() for record in each}

    def at(self, domain: str) -> Sequence[Record]:
        """Return who works at the company whose site is at *domain*, as the file has it."""
        return self._by_domain.get(domain, ())

    def get(self, id_: str) -> Record | None:
        return self._by_id.get(id_)

    def company(self, name: str) -> Brand | None:
        """Return the company called *name*, if the file has it."""
        for brand in self._world.brands:
            if fold(name) in map(fold, (brand.name, *brand.aliases)):
                known = self._draw("company", brand.domain) < self._file.companies
                return brand if known else None
        return None

    def _draw(self, *about: str) -> float:
        return drawn(self._world.seed, self._name, *about)

    def _record(self, brand: Brand, person: Person) -> Record | None:
        slug = profile_slug(self._world.seed, brand, person)
        if self._draw("knows", slug) >= self._file.coverage:
            return None
        employer, headline = brand, person.headline
        if person.before and self._draw("outdated", slug) < self._file.outdated:
            employer, headline = self._brands[person.before.brand], person.before.headline
        elif self._draw("misplaced", slug) < self._file.misplaced:
            every = self._world.brands
            employer = every[int(self._draw("where", slug) * len(every))]
        return Record(
            id=f"{int(self._draw('id', slug) * 16**12):012x}",
            person=person,
            employer=employer,
            headline=headline,
            slug=slug,
            address=self._address(person, slug, employer, is_now=employer is brand),
        )

    def _address(
        self, person: Person, slug: str, employer: Brand, *, is_now: bool
    ) -> str | None:
        if self._draw("address", slug) >= self._file.addresses:
            return None
        domain = employer.mail_domain or employer.domain
        if is_now and self._draw("invented", slug) >= self._file.invented:
            return f"{person.mailbox}@{domain}" if person.mailbox else None
        # At a former employer the one that they had there; an invented one is the usual.
        convention = _USUAL if is_now else convention_of(employer)
        return f"{local_part(convention, *_plain(person.name))}@{domain}"


def convention_of(brand: Brand) -> str:
    """Return how *brand* makes addresses; the usual way where its people do not show it.

    >>> from cs.sandbox.shapes import IntendedResult
    >>> people = (Person(name="Zoë Ruiz", headline="Buyer", mailbox="zruiz"),)
    >>> result = IntendedResult(outcome="error")
    >>> acme = Brand(name="A", domain="a.test", people=people, intends=result)
    >>> convention_of(acme), convention_of(msgspec.structs.replace(acme, people=()))
    ('flast', 'first.last')
    """
    for person in brand.people:
        for pattern in TEMPLATES:
            if person.mailbox == local_part(pattern, *_plain(person.name)):
                return pattern
    return _USUAL


def _plain(name: str) -> tuple[str, str]:
    first, _, last = (re.sub(r"[^a-z ]", "", fold(name)) or "member").partition(" ")
    return first, last.replace(" ", "") or first
