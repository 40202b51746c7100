"""One row of a large open company file: the company in it, or what is wrong with it.  Pure."""

import re
from collections.abc import Callable, Mapping

from cs.domain.names.brand_names import Unacceptable, canonical_domain, clean_brand
from cs.sources.brand.brand_index import IndexedBrand
from cs.sources.social_pages import (
    company_page,
    instagram,
    instagram_of,
    is_hosted,
    tiktok,
    tiktok_of,
)
from cs.sources.tables.table_file import FIELDS, BadRow, TableKind, as_url, cell_text

_LONGEST_ID = 200
_NUMBER = re.compile(r"\d[\d,. ]*")


def _lacking(columns: Mapping[str, str]) -> str | None:
    return None if "name" in columns else "a column called name, company name or LegalName"


COMPANIES = TableKind(FIELDS["companies"], _lacking)


def company_of(cells: Mapping[str, object]) -> IndexedBrand:
    """Return the company in *cells*, by field.

    Raises:
        BadRow: It has no name, or a web site that no domain can be read from.
    """
    given = {field: cell_text(value) for field, value in cells.items()}
    name, site, country = (given.get(field, "") for field in ("name", "domain", "country"))
    if not name:
        raise BadRow("no name")
    try:
        name = clean_brand(name)
    except Unacceptable as error:
        raise BadRow(error.message) from error
    try:
        domain = canonical_domain(site) if site and not is_hosted(as_url(site)) else None
    except Unacceptable as error:
        raise BadRow("the web site is no domain that can be searched") from error
    own = given.get("id", "")[:_LONGEST_ID]
    return IndexedBrand(
        key=own or domain or f"{name.casefold()}|{country.casefold()}",
        name=name,
        domain=domain,
        country=country or None,
        size=_size(given.get("size", "")),
        linkedin=company_page(as_url(given.get("linkedin", ""))),
        instagram=_page(given.get("instagram", ""), instagram, instagram_of),
        tiktok=_page(given.get("tiktok", ""), tiktok, tiktok_of),
        parent=given.get("parent") or None,
    )


def _page(
    text: str, read: Callable[[str], str | None], made_of: Callable[[str], str]
) -> str | None:
    """Return the page that *text* is the address or the user name of."""
    if not text:
        return None
    return read(as_url(text)) if "/" in text else made_of(text.lstrip("@"))


def _size(text: str) -> int:
    """Return the lower end of "1001-5000", "10,001+" or "1001 - 5000"."""
    found = _NUMBER.match(text)
    digits = re.sub(r"\D", "", found[0]) if found else ""
    return int(digits[:9]) if digits else 0
