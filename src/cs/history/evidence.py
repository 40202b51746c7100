"""What tells the people of a whole history apart, in a file that nobody else sees.

A record is what one lookup found out about one person, ``<lookup>#p1``.  Two records are of
one person (docs/analysts.md, "The same person"):

* with profiles, if it is the same profile;
* without, if they share a verified mailbox, or name and company, directly or through others
  without a profile.  Such a group belongs to the one profile whose records share a mailbox
  or a name with it; if there are several, nobody can say whose it is.
"""

import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

#: Of its pages in memory, KiB; the others are in a file without a name, gone with it.
CACHE_KIB = 32_000
#: Kept of a fingerprint: of 10 million, two begin alike with a probability of 10⁻²⁵.
_PRINT_BYTES = 16
#: Records asked about in one query.
_PAGE = 500


class Findings(NamedTuple):
    """What one event tells of a record: fingerprints.

    Attributes:
        name: ``<lookup>#<person>``.
        profile: Of the profile; ``None`` if this event tells none.
        prints: Of verified mailboxes, and of name with company.
    """

    name: str
    profile: str | None
    prints: tuple[str, ...]


class IdentityEvidence:
    """Fed with `add` in order of position, then asked with `who`.

    Some 300 bytes a record on disk, 8 in memory.  Only hashes are kept here.

    Args:
        pseudonym: Makes a pseudonym of a fingerprint, or of the name of a record.
    """

    def __init__(self, pseudonym: Callable[[str], str]) -> None:
        self._pseudonym = pseudonym
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.create_function("pseudonym", 1, pseudonym, deterministic=True)
        for statement in _SCHEMA:
            self._database.execute(statement)

    def close(self) -> None:
        self._database.close()

    def add(self, findings: Iterable[Findings]) -> None:
        records: list[tuple[str, str | None, str | None]] = []
        said: list[tuple[bytes, str]] = []
        for name, profile, prints in findings:
            who = None if profile is None else self._pseudonym(profile)
            own = prints[0] if prints and who is None else None
            records.append((name, who, own))
            said += [(bytes.fromhex(print_)[:_PRINT_BYTES], name) for print_ in prints]
        self._database.execute("BEGIN")
        self._database.executemany(_ADD, records)
        self._database.executemany(_ADD_PRINT, said)
        self._database.execute("COMMIT")

    def drop(self, names: Iterable[str]) -> None:
        """Forget the records *names*, erased by now: `who` knows nothing of them."""
        self._database.execute("BEGIN")
        self._database.executemany(_DROP, ((name,) for name in names))
        self._database.execute("COMMIT")

    def who(self, names: Iterable[str]) -> Mapping[str, str]:
        """Return the pseudonym of the person of each of *names* that was added or dropped.

        It is empty where nothing is known of them, as they are erased.

        The first time that it is asked about a record without a profile it compares all there
        are; what is added after that counts once a new one of those is asked about.
        """
        found: dict[str, str | None] = dict(self._rows(_WHO, names))
        if None in found.values():
            self._resolve()
            found = dict(self._rows(_WHO, names))
        return {name: who or "" for name, who in found.items()}

    def records(self, who: str) -> list[str]:
        """Return the records of the person with the pseudonym *who*, in order of position."""
        self._resolve()
        return [name for (name,) in self._database.execute(_RECORDS, {"who": who})]

    @property
    def size(self) -> int:
        """How large the file is, in bytes."""
        ((pages,), (page,)) = (
            self._database.execute(f"PRAGMA {name}").fetchone()
            for name in ("page_count", "page_size")
        )
        return int(pages) * int(page)

    def _rows(self, query: str, names: Iterable[str]) -> Iterator[Any]:
        """Yield the rows of *query* for *names*, a page of them at a time."""
        wanted = list(names)
        for start in range(0, len(wanted), _PAGE):
            page = wanted[start : start + _PAGE]
            marks = ",".join("?" * len(page))
            yield from self._database.execute(f"{query} WHERE name IN ({marks})", page)

    def _resolve(self) -> None:
        """Find out who the records without a profile are of."""
        execute = self._database.execute
        execute("BEGIN")
        for statement in _BEGIN_RESOLVING:
            execute(statement)
        (last,) = execute("SELECT coalesce(max(id), 0) FROM record").fetchone()
        groups = _Groups(last)
        before: tuple[bytes, int] | None = None
        for print_, record in execute("SELECT print, record FROM loose ORDER BY 1, 2"):
            if before is not None and before[0] == print_:
                groups.join(before[1], record)
            before = (print_, record)
        self._database.executemany("INSERT INTO member VALUES (?, ?)", self._members(groups))
        for statement in _END_RESOLVING:
            execute(statement)
        execute("COMMIT")

    def _members(self, groups: "_Groups") -> Iterator[tuple[int, int]]:
        for (record,) in self._database.execute("SELECT id FROM record WHERE profile IS NULL"):
            yield record, groups.first(record)


class _Groups:
    """Disjoint sets of records, each named by the one that was seen first."""

    def __init__(self, last: int) -> None:
        self._above = array("q", range(last + 1))

    def first(self, record: int) -> int:
        above = self._above
        while above[record] != record:
            above[record] = above[above[record]]
            record = above[record]
        return record

    def join(self, one: int, other: int) -> None:
        one, other = sorted((self.first(one), self.first(other)))
        self._above[other] = one


_SCHEMA = (
    f"PRAGMA cache_size = -{CACHE_KIB}",
    "PRAGMA journal_mode = OFF",
    "PRAGMA synchronous = OFF",
    (
        "CREATE TABLE record (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, profile TEXT, "
        "own TEXT, who TEXT, erased INTEGER NOT NULL DEFAULT 0)"
    ),
    "CREATE TABLE said (print BLOB NOT NULL, record INTEGER NOT NULL)",
)
_ADD = """
INSERT INTO record (name, profile, own) VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE
SET profile = coalesce(profile, excluded.profile), own = coalesce(own, excluded.own)
"""
_ADD_PRINT = "INSERT INTO said SELECT ?, id FROM record WHERE name = ?"
_DROP = """
INSERT INTO record (name, erased) VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET erased = 1
"""
_WHO = "SELECT name, iif(erased, '', coalesce(profile, who)) FROM record"
_RECORDS = """
SELECT name FROM record WHERE coalesce(profile, who) = :who AND NOT erased ORDER BY id
"""
_BEGIN_RESOLVING = (
    "DROP TABLE IF EXISTS loose",
    "DROP TABLE IF EXISTS claimed",
    "DROP TABLE IF EXISTS member",
    "CREATE TABLE member (record INTEGER PRIMARY KEY, first INTEGER NOT NULL)",
    """
    CREATE TABLE loose AS
    SELECT print, record FROM said JOIN record ON id = record
    WHERE profile IS NULL AND NOT erased
    """,
    "CREATE INDEX loose_print ON loose (print, record)",
    """
    CREATE TABLE claimed AS
    SELECT DISTINCT print, profile FROM said JOIN record ON id = record
    WHERE profile IS NOT NULL AND NOT erased AND print IN (SELECT print FROM loose)
    """,
)
#: A group that one profile claims is of its person; one that several claim, of nobody's else.
_END_RESOLVING = (
    """
    UPDATE record SET who = pseudonym(coalesce(first.own, first.name))
    FROM member JOIN record AS first ON first.id = member.first
    WHERE record.id = member.record
    """,
    """
    UPDATE record SET who = one.profile
    FROM member JOIN (
        SELECT first, min(profile) AS profile
        FROM (
            SELECT DISTINCT first, profile FROM claimed
            JOIN loose USING (print) JOIN member USING (record)
        )
        GROUP BY first HAVING count(*) = 1
    ) AS one USING (first)
    WHERE record.id = member.record
    """,
)
