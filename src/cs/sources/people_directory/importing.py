"""Importing a file of people into the directory: batch by batch, errors reported."""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import date, datetime, timedelta
from functools import partial
from hashlib import blake2b
from secrets import token_bytes
from typing import Protocol, TypeVar

import msgspec

from cs.directory.person import DirectoryPerson, DirectoryRow
from cs.directory.store import IndexEntries, PeopleDirectory
from cs.domain.mail.syntax import ascii_mailbox, is_mailbox
from cs.domain.names.brand_names import Unacceptable, canonical_domain
from cs.domain.names.profile_url import person_page
from cs.runtime.table_text import is_hopeless
from cs.sources.people_directory.source import places_of
from cs.sources.social_pages import is_free_mail, is_hosted, is_shared_host
from cs.sources.tables.table_file import (
    FIELDS,
    BadFile,
    BadRow,
    Cells,
    TableFile,
    TableKind,
    as_url,
    batches,
    cell_text,
)

#: Rows of one transaction: what is lost when an import is stopped, and imported again.
BATCH = 5_000
_SUPPRESSED = "this person asked to be forgotten, and is left out: delete the row"


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
#: Texts that Apollo writes in place of an address that is not paid for.
_NO_ADDRESS = re.compile(
    r"email_?not_?unlocked@.*|n/?a|none|null|unavailable|-+", re.IGNORECASE
)
_UNREADABLE = re.compile("[\ud800-\udfff\ufffd]")
#: Called with the line of a row that is not imported, and why.
Refuse = Callable[[int, str], object]
T = TypeVar("T")


class PersonPrints(Protocol):
    """The fingerprints that erasure goes by."""

    def of(self, person: DirectoryPerson) -> tuple[str, ...]:
        """Return those of *person*, the one that says who it is first."""

    async def suppressed(self, prints: frozenset[str]) -> frozenset[str]:
        """Return those of *prints* whose people asked to be forgotten."""


class ImportCounts(msgspec.Struct):
    """The result of an import, in rows.

    Attributes:
        repeated: People that an earlier row of the file has; that one counts.
        suppressed: Of people who asked to be forgotten.
        refused: With an error, which was reported.
    """

    rows: int = 0
    new: int = 0
    updated: int = 0
    unchanged: int = 0
    repeated: int = 0
    suppressed: int = 0
    refused: int = 0


def good_rows(
    file: TableFile, parse: Callable[[Cells], T], counts: ImportCounts, refuse: Refuse
) -> Iterator[tuple[int, T]]:
    """Yield the good rows of *file* with their lines; count all rows in *counts*.

    Args:
        file: Read once.
        parse: As `TableFile.read` has it.
        counts: Gets the number of rows, and of those that are refused.
        refuse: Called with the line of each bad row, and what is wrong with it.

    Raises:
        BadFile: From here on the file cannot be read, or nearly all rows are bad.
    """
    for line, row in file.read(parse):
        counts.rows += 1
        if not isinstance(row, str):
            yield line, row
            continue
        counts.refused += 1
        refuse(line, row)
        if is_hopeless(counts.rows, counts.refused):
            raise BadFile(f"nearly all of its {counts.rows} rows are bad: {row}")


@dataclass
class Importing:
    """One import.

    Attributes:
        directory: Where people are put.
        prints: By which they are erased.
        today: Of which they are known unless the file says so.
        oldest: A person known of an earlier day is refused.
        dated: The file is of that day, also for people who are known already.
        dry_run: Only say what would change.
        on_refused: Called for each row that is refused, with its line and the reason.
        on_progress: Called with the counts after each batch.
        counts: The result until now.
    """

    directory: PeopleDirectory
    prints: PersonPrints
    _: KW_ONLY
    today: date
    oldest: date
    dated: bool = False
    dry_run: bool = False
    on_refused: Refuse = lambda _line, _why: None
    on_progress: Callable[[ImportCounts], object] = lambda _counts: None
    counts: ImportCounts = field(default_factory=ImportCounts)

    async def run(self, file: TableFile) -> None:
        """Import all of *file*; what was imported when it is stopped stays.

        Raises:
            BadFile: From some row on it cannot be read.
            DirectoryUnavailable, KeysUnavailable: Run it again; it goes on.
        """
        for batch in batches(self._good_rows(file), BATCH):
            await self._put(batch)

    def _good_rows(self, file: TableFile) -> Iterator[tuple[int, DirectoryRow]]:
        seen = _SeenPeople()
        parse = partial(row_of, today=self.today, oldest=self.oldest)
        for line, row in good_rows(file, parse, self.counts, self.on_refused):
            first = seen.first_line(row.person.known_as, line)
            if first != line:
                self.counts.repeated += 1
                self.on_refused(line, f"the same person as in line {first}, which counts")
                continue
            dated = DirectoryRow(row.person, row.given | {"as_of"}) if self.dated else row
            yield line, dated

    async def _put(self, batch: list[tuple[int, DirectoryRow]]) -> None:
        prints = {line: self.prints.of(row.person) for line, row in batch}
        every = frozenset[str]().union(*prints.values())
        known = {row.person: prints[line] for line, row in batch}
        gone = await self.prints.suppressed(every)
        for line in (line for line, of in prints.items() if gone.intersection(of)):
            self.counts.suppressed += 1
            self.on_refused(line, _SUPPRESSED)
        rows = [row for line, row in batch if not gone.intersection(prints[line])]

        def index(person: DirectoryPerson) -> IndexEntries:
            return IndexEntries(places_of(person), known.get(person) or self.prints.of(person))

        changes = await self.directory.put(rows, index, dry_run=self.dry_run)
        if not self.dry_run and (late := await self.prints.suppressed(every) - gone):
            await self.directory.erase(late)  # erased between the look and the writing
        self.counts.new += changes.new
        self.counts.updated += changes.updated
        self.counts.unchanged += changes.unchanged
        self.on_progress(self.counts)


class _SeenPeople:
    """Which person was in which line: keyed hashes in a file without a name, not in memory."""

    def __init__(self) -> None:
        self._key = token_bytes(32)
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("CREATE TABLE seen (who INTEGER PRIMARY KEY, line INTEGER)")
        self._db.execute("BEGIN")

    def first_line(self, known_as: str, line: int) -> int:
        """Return the first line about the person *known_as* that: *line*, or an earlier."""
        digest = blake2b(known_as.encode(), key=self._key, digest_size=8).digest()
        who = int.from_bytes(digest, signed=True)
        if self._db.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", (who, line)).rowcount:
            return line
        query = "SELECT line FROM seen WHERE who = ?"
        return int(self._db.execute(query, (who,)).fetchone()[0])


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
        oldest: People known of an earlier day are not kept.

    Raises:
        BadRow: They name no person, or one who would never be found.
    """
    given = {field: cell_text(value) for field, value in cells.items()}
    for name, text in given.items():
        _check(name, text)
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
        raise BadRow("no company and no web site: no search would find this person")
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
            f"known of {day}, longer ago than people are kept (people_kept_for); find out again"
        )
    return day
