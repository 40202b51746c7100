"""One row of a file of people: who it tells of, or what is wrong with it.  Pure."""

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta

import msgspec

from cs.directory.person import DirectoryPerson, DirectoryRow
from cs.domain.mail.syntax import ascii_mailbox, is_mailbox
from cs.domain.names.brand_names import Unacceptable, canonical_domain
from cs.domain.names.profile_url import person_page
from cs.sources.people_directory.places import is_free_mail
from cs.sources.social_pages import is_hosted, is_shared_host
from cs.sources.tables.table_file import FIELDS, BadRow, TableKind, as_url, cell_text

#: Characters of a field whose bound is not `_LONGEST`; LinkedIn's own, and some more.
LONGEST: Mapping[str, int] = {
    "full_name": 150,
    "first_name": 100,
    "last_name": 100,
    "title": 300,
    "headline": 1_000,
    "language": 40,
    "note": 500,
    "profile": 300,
    "domain": 2_000,
    "email": 254,
}
_LONGEST = 200
#: Columns that only say part of where a person is.
_PARTS_OF_LOCATION = ("city", "state", "country")
#: What Apollo writes where an address is not paid for.
_NO_ADDRESS = re.compile(
    r"email_?not_?unlocked@.*|n/?a|none|null|unavailable|-+", re.IGNORECASE
)
_UNREADABLE = re.compile("[\ud800-\udfff\ufffd]")


def lacking(columns: Mapping[str, str]) -> str | None:
    """Return which field *columns* need that they lack; ``None`` if they are enough."""
    if not {"full_name", "first_name", "last_name"} & columns.keys():
        return "a column with the name: --column full_name=COLUMN, or first_name and last_name"
    if not {"profile", "email"} & columns.keys():
        return "a column with the LinkedIn profile or the e-mail: --column profile=COLUMN"
    if not {"company", "domain", "email"} & columns.keys():
        return "a column with the company or its web site: --column company=COLUMN"
    return None


PEOPLE = TableKind(FIELDS["people"], lacking)


def row_of(cells: Mapping[str, object], *, today: date, oldest: date) -> DirectoryRow:
    """Return what *cells*, by field, tell of one person.

    Args:
        cells: The fields that the file has a column for.
        today: The day of which people without one of their own are known.
        oldest: Whoever is known of an earlier day is not kept.

    Raises:
        BadRow: They tell of nobody, or of somebody who would never be found.
    """
    given = {field: cell_text(value) for field, value in cells.items()}
    for field, text in given.items():
        _check(field, text)
    full_name = given.get("full_name") or " ".join(
        filter(None, (given.get("first_name"), given.get("last_name")))
    )
    if not any(map(str.isalpha, full_name)):
        raise BadRow("no name: fill it in")
    profile, email = _profile(given.get("profile", "")), _email(given.get("email", ""))
    if profile is None and email is None:
        raise BadRow("neither a LinkedIn profile nor an e-mail: one of them says who it is")
    company, domain = given.get("company") or None, _domain(given.get("domain", ""))
    own_mail = email is not None and not is_free_mail(email.rpartition("@")[2])
    if company is None and domain is None and not own_mail:
        raise BadRow("no company and no web site: nobody would be asked for them")
    person = DirectoryPerson(
        full_name=full_name,
        first_name=given.get("first_name") or None,
        last_name=given.get("last_name") or None,
        title=given.get("title") or None,
        headline=given.get("headline") or None,
        company=company,
        domain=domain,
        profile=profile,
        email=email,
        location=_location(given),
        language=given.get("language") or None,
        note=given.get("note") or None,
        as_of=_day(given.get("as_of", ""), today, oldest),
    )
    return DirectoryRow(person, _fields(given))


def _fields(given: Mapping[str, str]) -> frozenset[str]:
    fields = {"full_name", *given}
    if not given.get("as_of"):
        fields.discard("as_of")
    if fields.intersection(_PARTS_OF_LOCATION):
        fields.add("location")
    return frozenset(fields.difference(_PARTS_OF_LOCATION))


def _check(field: str, text: str) -> None:
    longest = LONGEST.get(field, _LONGEST)
    if len(text) > longest:
        raise BadRow(f"{field} has {len(text)} characters, of {longest}")
    if not text.isascii() and _UNREADABLE.search(text):
        raise BadRow(
            f"{field} is not in the encoding of the file: save it as UTF-8, or say which it "
            "is, such as --encoding cp1252"
        )


def _profile(text: str) -> str | None:
    if not text:
        return None
    page = person_page(as_url(text))
    if page is not None:
        return page
    if "linkedin.com/sales/" in text.lower():
        raise BadRow(
            "the profile is an address of Sales Navigator, which only its user can open: "
            "export the public one (linkedin.com/in/...)"
        )
    raise BadRow("the profile is no address of a LinkedIn profile (linkedin.com/in/...)")


def _email(text: str) -> str | None:
    if not text or _NO_ADDRESS.fullmatch(text):
        return None
    address = ascii_mailbox(text).lower().removeprefix("mailto:")
    if not is_mailbox(address):
        raise BadRow("the e-mail is no address: mend it, or leave it empty")
    return address


def _domain(text: str) -> str | None:
    """Return the company's domain; none for a page that a service keeps for it."""
    if not text or is_hosted(as_url(text)):
        return None
    try:
        domain = canonical_domain(text)
    except Unacceptable as error:
        raise BadRow(
            "the web site is no domain that can be searched: mend it, or leave it empty"
        ) from error
    return None if is_shared_host(domain) or is_free_mail(domain) else domain


def _location(given: Mapping[str, str]) -> str | None:
    parts = [given.get(part, "") for part in _PARTS_OF_LOCATION]
    return given.get("location") or ", ".join(filter(None, parts)) or None


def _day(text: str, today: date, oldest: date) -> date:
    if not text:
        return today
    try:
        day = datetime.fromisoformat(text).date()
    except ValueError:
        try:
            day = msgspec.convert(text, datetime, strict=False).date()
        except msgspec.ValidationError:
            raise BadRow(
                "as_of is no date that can be read in one way only: write it as 2026-11-01, or "
                "leave the column out with --column as_of="
            ) from None
    if day > today + timedelta(days=1):
        raise BadRow(f"as_of, {day}, is in the future: mend it")
    if day < oldest:
        raise BadRow(
            f"known of {day}, longer ago than people are kept (people_kept_for); find out anew"
        )
    return day
