"""Which column of a file of people holds what, by how common exports call theirs.  Pure.

Known by their columns: exports of LinkedIn's own connections, of tools for Sales Navigator
(Evaboot, PhantomBuster), of Apollo and of HubSpot, and any plain list.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

#: By field what its column may be called, the best first; case, "_", "-" and "." say nothing.
COLUMNS: Mapping[str, Sequence[str]] = {
    "full_name": ("full name", "fullname", "name", "contact name", "person name", "contact"),
    "first_name": ("first name", "firstname", "given name", "first", "prospect first name"),
    "last_name": ("last name", "lastname", "surname", "family name", "last"),
    "title": (
        *("job title", "jobtitle", "title", "current job title", "current title", "position"),
        *("current job", "current position", "prospect position", "role", "occupation"),
    ),
    "headline": ("headline", "linkedin headline", "profile headline", "summary headline"),
    "company": (
        *("company name for emails", "company name", "company", "current company"),
        *("organization", "organisation", "organization name", "employer", "account name"),
        *("associated company", "primary associated company", "account"),
    ),
    "domain": (
        *("company domain", "company domain name", "domain", "email domain", "website domain"),
        *("company website", "website", "website url", "company website url", "web site"),
        *("homepage", "account website"),
    ),
    "profile": (
        *("default profile url", "person linkedin url", "linkedin profile url"),
        *("linkedin url", "linkedin profile", "contact linkedin url", "profile url"),
        *("person linkedin", "prospect linkedin url", "linkedin bio", "hs linkedin url"),
        *("linkedin", "linkedin link", "profile link", "profile", "url"),
    ),
    "email": (
        *("work email", "business email", "professional email", "email", "e mail", "mail"),
        *("email address", "e mail address", "primary email", "contact email", "email 1"),
    ),
    "location": (
        *("location", "person location", "prospect location", "contact location"),
        *("geography", "geo", "region", "geo region"),
    ),
    "city": ("city", "contact city", "person city"),
    "state": ("state", "contact state", "person state", "state region"),
    "country": ("country", "contact country", "person country", "country region"),
    "language": ("language", "preferred language", "hs language", "locale", "profile language"),
    "note": ("note", "notes", "source", "list", "list name", "original source", "tags"),
    "as_of": (
        *("as of", "asof", "last updated", "updated at", "last modified", "last modified date"),
        *("hs lastmodifieddate", "lastmodifieddate", "last verified at", "date updated"),
        *("updated", "modified"),
    ),
}
#: What only says part of where somebody is.
PARTS_OF_LOCATION = ("city", "state", "country")

_WORDS_MEET = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BETWEEN = re.compile(r"[\s_\-./]+")


class BadColumns(ValueError):
    """No person can be read from these columns; the message says what to do."""


def columns_of(
    header: Iterable[str], chosen: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return by field the column of *header* that holds it; fields without one are left out.

    Args:
        header: The columns.
        chosen: By field the column that somebody named for it; an empty one: none.

    Raises:
        BadColumns: *chosen* names a field or a column that there is not.

    >>> columns_of(["First Name", "Last Name", "Person Linkedin Url", "# Employees"])
    {'first_name': 'First Name', 'last_name': 'Last Name', 'profile': 'Person Linkedin Url'}
    """
    columns = [column for column in header if column]
    by_name: dict[str, str] = {}
    for column in columns:
        by_name.setdefault(plain_column(column), column)
    for column in columns:  # "LinkedIn" is one word, "profileUrl" is two
        by_name.setdefault(plain_column(_WORDS_MEET.sub(" ", column)), column)
    found = {
        field: by_name[name]
        for field, names in COLUMNS.items()
        if (name := next((each for each in names if each in by_name), None)) is not None
    }
    if "location" in found:
        for part in PARTS_OF_LOCATION:
            found.pop(part, None)
    for field, column in (chosen or {}).items():
        if field not in COLUMNS:
            raise BadColumns(f"no field is called {field}; there are {', '.join(COLUMNS)}")
        if not column:
            found.pop(field, None)
            continue
        known = {each: each for each in columns} | {each.strip(): each for each in columns}
        named = known.get(column) or by_name.get(plain_column(column))
        if named is None:
            raise BadColumns(f"none of the {len(columns)} columns is called {column}")
        found[field] = named
    return found


def lacking(columns: Mapping[str, str]) -> str | None:
    """Say which field *columns* need that they lack; ``None`` if they are enough."""
    if not {"full_name", "first_name", "last_name"} & columns.keys():
        return "a column with the name: --column full_name=COLUMN, or first_name and last_name"
    if not {"profile", "email"} & columns.keys():
        return "a column with the LinkedIn profile or the e-mail: --column profile=COLUMN"
    if not {"company", "domain", "email"} & columns.keys():
        return "a column with the company or its web site: --column company=COLUMN"
    return None


def plain_column(column: str) -> str:
    """Return *column* as `COLUMNS` has it.

    >>> plain_column("LinkedIn_URL"), plain_column("E-mail Address ")
    ('linkedin url', 'e mail address')
    """
    return _BETWEEN.sub(" ", column.strip().lstrip("\ufeff")).strip().lower()
