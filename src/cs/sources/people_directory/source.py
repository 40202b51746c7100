"""The people source over the operator's own directory: free, and asked before the others.

An e-mail that is in it is a candidate, verified like any other and before guessed ones; it
proves nothing by itself.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence

from cs.directory.person import DirectoryPerson
from cs.directory.store import DirectoryUnavailable, PeopleDirectory
from cs.domain.names.brand_match import close_forms, core_forms, names_host
from cs.domain.names.brand_names import Unacceptable, clean_brand, sites_of
from cs.domain.names.employer import is_employer
from cs.domain.roles.role import classify
from cs.paid_calls.service import NOT_CONFIGURED, WORKS
from cs.plugins.sources import (
    BrandFacts,
    PeopleAnswer,
    ServiceCheck,
    Sighting,
    SourceContext,
    SourceStatus,
)
from cs.sources.social_pages import is_free_mail, is_shared_host

#: People of one company whose roles are read: the latest known ones of those that there are.
LOOKED_AT = 1_000
#: Hosts above a web site's that it is found by: "shop.eu.acme.co.uk" by "acme.co.uk".
_ABOVE = 4
_NOT_HERE = "where the directory is, or its key, is not named here: stages_key_file"
_NOBODY = "the directory is empty: `cs directory import FILE`"


class DirectorySource:
    """Args: *directory*: who is in it; ``None``: this process has none."""

    name = "directory"
    #: It is on this machine: asked before the others, and listed only if it has people.
    local = True

    def __init__(self, directory: PeopleDirectory | None) -> None:
        self._directory = directory

    @property
    def missing(self) -> str | None:
        if self._directory is None:
            return _NOT_HERE
        return None if self._directory.has_people else _NOBODY

    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        """Find who works for *brand* or its parent; those in a role of ours come first."""
        if self._directory is None:
            return self._ended(SourceStatus.NOT_CONFIGURED, _NOT_HERE)
        try:
            if not await self._directory.look():
                return self._ended(SourceStatus.NOT_CONFIGURED, _NOBODY)
            found = await self._directory.people_at(places_asked(brand), limit=LOOKED_AT)
        except DirectoryUnavailable as error:
            return self._ended(SourceStatus.FAILED, str(error))
        people = await asyncio.to_thread(_sightings, brand, found, limit)
        ended = SourceStatus.USED if people else SourceStatus.NO_RESULTS
        return PeopleAnswer(source=self.name, ended=ended, people=people)

    async def check(self) -> ServiceCheck:
        """Say how many people there are, and how old."""
        if self._directory is None:
            return ServiceCheck(ended=NOT_CONFIGURED, why=_NOT_HERE)
        try:
            status = await self._directory.status()
        except DirectoryUnavailable as error:
            return ServiceCheck(ended=SourceStatus.FAILED.value, why=str(error))
        if not status.people:
            return ServiceCheck(ended=NOT_CONFIGURED, why=_NOBODY)
        who = f"{status.people} people, known of {status.oldest} to {status.newest}"
        return ServiceCheck(ended=WORKS, why=who)

    def _ended(self, ended: SourceStatus, why: str) -> PeopleAnswer:
        return PeopleAnswer(source=self.name, ended=ended, why=why)


def from_context(context: SourceContext) -> DirectorySource:
    """Make the source; it takes no settings."""
    return DirectorySource(context.directory)


def _sightings(
    brand: BrandFacts, found: Sequence[DirectoryPerson], limit: int
) -> tuple[Sighting, ...]:
    """Return at most *limit* of *found* who may be of *brand*, in order but for their roles."""
    seen = [_sighting(brand, person) for person in found if is_meant(brand, person)]
    seen.sort(key=lambda each: not each[0])
    return tuple(sighting for _, sighting in seen[:limit])


def _sighting(brand: BrandFacts, person: DirectoryPerson) -> tuple[bool, Sighting]:
    """Return *person* as seen, and whether in a role that is looked for."""
    said = [text for text in (person.headline, person.title) if text]
    roles = [text for text in said if classify(text).eligible]
    company = person.company
    if company is None or not is_employer(company, names_of(brand)):
        company = _shown_name(brand)  # as the directory's names go, which forgive more
    sighting = Sighting(
        full_name=person.full_name,
        first_name=person.first_name,
        last_name=person.last_name,
        headline=next(iter([*roles, *said]), None),
        company=company,
        linkedin_url=person.profile,
        location=person.location,
        addresses=(person.email,) if person.email else (),
        source=DirectorySource.name,
    )
    return bool(roles), sighting


def _shown_name(brand: BrandFacts) -> str | None:
    """Return the name of *brand*, from whichever source, if it is one."""
    try:
        return clean_brand(brand.name)
    except Unacceptable:
        return None


# Names meet as those of brands do (`cs.domain.names.brand_match`): case, accents, legal forms,
# plurals and words for the firm say nothing.


def places_of(person: DirectoryPerson) -> frozenset[str]:
    """Return where *person* is to be found."""
    mail = person.email.rpartition("@")[2] if person.email else ""
    hosts = [person.domain or "", "" if is_free_mail(mail) else mail]
    return frozenset({*_named(filter(None, [person.company])), *_hosts(hosts)})


def places_asked(brand: BrandFacts) -> frozenset[str]:
    """Return where people of *brand*, or of its parent, are looked for."""
    domains = {f"domain:{each}" for each in own_domains(brand)}
    return frozenset(_named(names_of(brand))) | domains


def is_meant(brand: BrandFacts, person: DirectoryPerson) -> bool:
    """Say whether *person*, found at a place of *brand*, may be of that company.

    Who is found by the company's name alone is not, if the file says that its web site is one
    that is called otherwise: Delta Faucet's people are not Delta's.
    """
    if person.domain is None or not own_domains(brand):
        return True
    sites = set(sites_of(person.domain))
    if sites.intersection(own_domains(brand)):
        return True
    return any(names_host(person.domain, name) for name in names_of(brand))


def names_of(brand: BrandFacts) -> list[str]:
    """Return what the company of *brand* may be called."""
    return [each for each in (brand.name, *brand.aliases, brand.parent_company) if each]


def own_domains(brand: BrandFacts) -> frozenset[str]:
    """Return the domains that are *brand*'s, web site and mail."""
    return frozenset(filter(None, (brand.domain, *brand.mail_domains)))


def _named(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        for key in close_forms(name) | core_forms(name):
            yield f"name:{key}"


def _hosts(hosts: Iterable[str]) -> Iterator[str]:
    for host in filter(None, hosts):
        for site in list(sites_of(host))[:_ABOVE]:
            if not is_shared_host(site):
                yield f"domain:{site}"
