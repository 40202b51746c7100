"""The streams of a brand, by its name or domain.

A brand that was requested by name, and by name with domain, has two streams, since results are
reused per request.  For an analyst a name or a domain stands for every stream that was
requested with it or whose runs resolved to it.
"""

from collections.abc import Sequence
from difflib import get_close_matches

import msgspec

from cs.domain.contact import Query
from cs.domain.names.brand_names import cache_name
from cs.history.history import History, Progress, unseen
from cs.history.selection import Selection

#: Brands that the error about an unknown one names.
_NAMED = 8


class BrandStream(msgspec.Struct):
    """A stream of runs on one brand.

    Attributes:
        query: As it was asked for.
        names, domains: All that it was asked for with or that its runs resolved to.
    """

    stream: str
    query: Query
    names: set[str]
    domains: set[str]

    @property
    def asked(self) -> str:
        """Return how it was asked for, in words."""
        return words_of(self.query)

    def is_meant(self, brand: str | None, domain: str | None) -> bool:
        """Return whether *brand*, as `cache_name` has it, and *domain* mean it."""
        is_named = brand is None or brand in self.names
        return is_named and (domain is None or domain in self.domains)


class UnknownBrand(Exception):
    """No brand that was looked up has that name or domain; the message names some that have."""


async def brands(
    history: History, upto: int | None = None, progress: Progress = unseen
) -> Sequence[BrandStream]:
    """Return the brands that were looked up by position *upto*, in order of their first run.

    Raises:
        LogUnavailable, DamagedEvent: The log cannot be read.
    """
    types = ("brand.lookup-started", "brand.resolved")
    found: dict[str, BrandStream] = {}
    async for event in history.events(Selection(types=types, upto=upto), progress):
        said = event.data()
        asked, resolved = said.get("query") or {}, said.get("brand") or {}
        if asked and event.stream not in found:
            query = msgspec.convert(asked, Query)
            found[event.stream] = BrandStream(event.stream, query, set(), set())
        if (brand := found.get(event.stream)) is not None:
            names = filter(None, (asked.get("brand"), resolved.get("name")))
            brand.names.update(map(cache_name, names))
            brand.domains.update(filter(None, (asked.get("domain"), resolved.get("domain"))))
    return list(found.values())


async def brands_meant(
    history: History, query: Query, upto: int | None = None
) -> Sequence[BrandStream]:
    """Return the streams that a name, a domain, or both of *query* mean.

    Raises:
        UnknownBrand: None does.
        LogUnavailable, DamagedEvent: The log cannot be read.
    """
    every = await brands(history, upto)
    name = None if query.brand is None else cache_name(query.brand)
    found = [each for each in every if each.is_meant(name, query.domain)]
    if not found:
        raise UnknownBrand(unknown_brand(query, [each.asked for each in every]))
    return found


def words_of(query: Query) -> str:
    """Return *query* in words: ``Acme (acme.example)``."""
    if query.brand and query.domain:
        return f"{query.brand} ({query.domain})"
    return query.brand or query.domain or ""


def unknown_brand(query: Query, asked: Sequence[str]) -> str:
    """Return a sentence that says that *query* is none of *asked*, and names the closest."""
    said = " with ".join(each for each in (query.brand, query.domain) if each)
    if not asked:
        return f"{said} was never looked up, and no other brand was"
    close = get_close_matches(said, asked, _NAMED, cutoff=0.5)
    named = ", ".join(close or sorted(set(asked))[:_NAMED])
    return f"{said} was never looked up; there are {named} (`cs brands list` shows all)"
