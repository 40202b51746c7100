"""A person of the operator's directory, and merging a newer row into them.  Pure."""

from collections.abc import Set as AbstractSet
from datetime import date

import msgspec
from msgspec.structs import replace


class DirectoryPerson(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A person as the operator's file has them; without a profile the e-mail says who it is.

    Attributes:
        title: The job, as a file of contacts has it.
        headline: Their own description of what they do.
        domain: Of their company's web site.
        profile: Address of their LinkedIn page, in the form of `person_page`.
        email: Where they may be reached; never proof of anything.
        note: Where the row is from, in the operator's words.
        as_of: The day of which it is known.
    """

    full_name: str
    first_name: str | None = None
    last_name: str | None = None
    title: str | None = None
    headline: str | None = None
    company: str | None = None
    domain: str | None = None
    profile: str | None = None
    email: str | None = None
    location: str | None = None
    language: str | None = None
    note: str | None = None
    as_of: date

    @property
    def known_as(self) -> str:
        """The identity of a person in the directory."""
        return f"profile:{self.profile}" if self.profile else f"email:{self.email}"


class DirectoryRow(msgspec.Struct, frozen=True):
    """One row of a file.

    Attributes:
        person: The person it describes.
        given: Fields that the file has a column for, and ``as_of`` if it dates the row; the
            other fields say nothing about the person.
    """

    person: DirectoryPerson
    given: AbstractSet[str]


def merged(before: DirectoryPerson, row: DirectoryRow) -> DirectoryPerson:
    """Merge *row* into the person *before*.

    Fields that the file has no column for stay.  Without a date of its own, a row that changes
    nothing leaves the date as it was: a file is no newer when it is imported again.
    """
    after = replace(before, **{field: getattr(row.person, field) for field in row.given})
    if after != before and "as_of" not in row.given:
        return replace(after, as_of=row.person.as_of)
    return after
