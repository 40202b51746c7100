"""Rows of large open company files, by the names of their columns.  Pure.

Two such files whose columns are known: the free company dataset of People Data Labs, in
its form of today (``id, name, website, country, size, linkedin_url`` among others) and in
that of 2019 (``name, domain, country, total employee estimate, linkedin url``).  Any other
file is read whose columns are called so.
"""

import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

from cs.domain.names.brand_names import Unacceptable, canonical_domain, clean_brand
from cs.sources.social_pages import (
    company_page,
    instagram,
    instagram_of,
    is_hosted,
    tiktok,
    tiktok_of,
)

#: By field what its column may be called, the best first; case, "_" and "-" say nothing.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "pdl id", "lei", "item"),
    "name": ("name", "company name", "entity.legalname", "itemlabel", "company"),
    "domain": ("domain", "website", "homepage", "url"),
    "country": ("country", "country code", "entity.legaladdress.country"),
    "size": (
        *("total employee estimate", "employee count", "employees", "size range", "size"),
        "current employee estimate",
    ),
    "linkedin": ("linkedin url", "linkedin"),
    "instagram": ("instagram", "instagram url"),
    "tiktok": ("tiktok", "tiktok url"),
    "parent": ("parent", "parent company", "parentlabel"),
}
_LONGEST_ID = 200
_NUMBER = re.compile(r"\d[\d,. ]*")


class BadRow(ValueError):
    """A row that names no company that could be found."""


class Company(msgspec.Struct, frozen=True):
    """One company of a file."""

    key: str  # the file's own id, else the domain, else name and country
    name: str
    domain: str | None = None
    country: str | None = None
    size: int = 0  # people who work there, at least
    linkedin: str | None = None  # full addresses
    instagram: str | None = None
    tiktok: str | None = None
    parent: str | None = None


def columns_of(header: Iterable[str]) -> dict[str, str]:
    """Return by field the column of *header* that holds it; fields without one are left out.

    >>> columns_of(["Name", "domain", "year founded", "linkedin url"])
    {'name': 'Name', 'domain': 'domain', 'linkedin': 'linkedin url'}
    """
    by_name = {_plain(column): column for column in header if column}
    return {
        field: by_name[name]
        for field, names in COLUMNS.items()
        if (name := next((n for n in names if n in by_name), None)) is not None
    }


def _plain(column: str) -> str:
    return " ".join(column.lstrip("\ufeff").replace("_", " ").replace("-", " ").lower().split())


def company_of(row: Mapping[str, object], columns: Mapping[str, str]) -> Company:
    """Return the company in *row*, whose fields are in *columns*.

    Raises:
        BadRow: It has no name, or a web site that no domain can be read from.
    """
    given = {field: _text(row.get(column)) for field, column in columns.items()}
    name, site, country = (given.get(field, "") for field in ("name", "domain", "country"))
    if not name:
        raise BadRow("no name")
    try:
        name = clean_brand(name)
    except Unacceptable as error:
        raise BadRow(error.message) from error
    try:
        domain = canonical_domain(site) if site and not is_hosted(_url(site)) else None
    except Unacceptable as error:
        raise BadRow("the web site is no domain that can be searched") from error
    own = given.get("id", "")[:_LONGEST_ID]
    return Company(
        key=own or domain or f"{name.casefold()}|{country.casefold()}",
        name=name,
        domain=domain,
        country=country or None,
        size=_size(given.get("size", "")),
        linkedin=company_page(_url(given.get("linkedin", ""))),
        instagram=_page(given.get("instagram", ""), instagram, instagram_of),
        tiktok=_page(given.get("tiktok", ""), tiktok, tiktok_of),
        parent=given.get("parent") or None,
    )


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


def _url(text: str) -> str:
    return text if "://" in text or not text else f"https://{text}"


def _page(
    text: str, read: Callable[[str], str | None], made_of: Callable[[str], str]
) -> str | None:
    """Return the page that *text* is the address or the user name of."""
    if not text:
        return None
    return read(_url(text)) if "/" in text else made_of(text.lstrip("@"))


def _size(text: str) -> int:
    """Return the lower end of "1001-5000", "10,001+" or "1001 - 5000"."""
    found = _NUMBER.match(text)
    digits = re.sub(r"\D", "", found[0]) if found else ""
    return int(digits[:9]) if digits else 0
