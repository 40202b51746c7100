"""Companies of imported files: an index on disk, in one SQLite file.

One file, so that a refresh is seen by whoever reads it and needs no release.  A name is
found by any of its forms in one range of a B-tree, the largest companies first, however many
share it; a name written wrong is looked for among the large ones only, since of millions
of companies somebody is called like nearly any slip.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Self

import msgspec

from cs.domain.names.brand_forms import close_forms, core_forms
from cs.domain.names.typos import SimilarKeys
from cs.sources.brand.company_rows import Company

#: What the file itself raises: it cannot be opened, read or written.
IndexFault = sqlite3.Error
#: Companies with as many people are found under names written wrong, too.
LARGE = 1_000
#: Of one name so many companies are looked at.
NAMESAKES = 20


class CompanyChanges(msgspec.Struct):
    """What an import came to, in companies."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0


class CompanyIndex:
    """The companies in *file*; a context that closes it.

    Raises:
        IndexFault: From everything.
    """

    def __init__(self, file: Path, *, writing: bool = False) -> None:
        mode = "rwc" if writing else "ro"
        self._db = sqlite3.connect(
            f"{file.absolute().as_uri()}?mode={mode}",
            uri=True,
            check_same_thread=False,
            isolation_level=None,
        )
        self._db.execute("PRAGMA cache_size = -65536")
        if writing:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(_SCHEMA)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def __len__(self) -> int:
        (count,) = self._db.execute(_COUNT).fetchone()
        return int(count)

    def put(self, companies: Sequence[Company], *, dry_run: bool = False) -> CompanyChanges:
        """Store *companies*, each in place of the one with its key, all or none.

        Of several with one key the last counts.  With *dry_run* they are only compared.
        """
        changes = CompanyChanges()
        self._db.execute("BEGIN" if dry_run else "BEGIN IMMEDIATE")
        try:
            for company in {each.key: each for each in companies}.values():
                known = self._db.execute(_BY_KEY, (company.key,)).fetchone()
                if known is not None and Company(*known[1:]) == company:
                    changes.unchanged += 1
                    continue
                changes.added += known is None
                changes.changed += known is not None
                if not dry_run:
                    self._write(company, known)
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")
        return changes

    def _write(self, company: Company, known: Sequence[object] | None) -> None:
        if known is not None:
            before = Company(*known[1:])  # type: ignore[arg-type]
            for table, rows in _entries(before, int(str(known[0]))).items():
                if table in _FORGET:
                    self._db.executemany(_FORGET[table], rows)
        number = None if known is None else known[0]
        row = (number, *msgspec.structs.astuple(company))
        number = self._db.execute(_PUT, row).lastrowid or number
        for table, rows in _entries(company, int(str(number))).items():
            self._db.executemany(_ENTER[table], rows)

    def named(self, keys: Iterable[str]) -> list[Company]:
        """Return the companies with a name that has one of *keys* as a form, largest first."""
        return self._of(_BY_NAME, keys)

    def at(self, domain: str) -> list[Company]:
        """Return the companies whose web site *domain* is, largest first."""
        return self._of(_BY_DOMAIN, [domain])

    def near(self, key: str) -> list[tuple[str, float]]:
        """Return the names of large companies that *key* may be a slip of."""
        return self._large.near(key)

    def _of(self, query: str, keys: Iterable[str]) -> list[Company]:
        found: dict[int, Company] = {}
        for key in keys:
            with closing(self._db.execute(query, (key, NAMESAKES))) as rows:
                found.update((row[0], Company(*row[1:])) for row in rows)
        return sorted(found.values(), key=lambda company: -company.size)

    @cached_property
    def _large(self) -> SimilarKeys:
        return SimilarKeys(key for (key,) in self._db.execute(_LARGE_NAMES))


def _entries(company: Company, number: int) -> dict[str, list[tuple[object, ...]]]:
    """Return by table the rows that lead to *company*."""
    keys = close_forms(company.name) | core_forms(company.name)
    rank = -company.size
    return {
        "name": [(key, rank, number) for key in keys],
        "site": [(company.domain, rank, number)] if company.domain else [],
        "large": [(key,) for key in close_forms(company.name) if company.size >= LARGE],
    }


def batches(companies: Iterable[Company], size: int) -> Iterator[list[Company]]:
    """Yield *companies* in lists of *size*, the last with what is left."""
    batch: list[Company] = []
    for company in companies:
        batch.append(company)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


_SCHEMA = """
CREATE TABLE IF NOT EXISTS company (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, name TEXT NOT NULL, domain TEXT,
    country TEXT, size INTEGER NOT NULL, linkedin TEXT, instagram TEXT, tiktok TEXT,
    parent TEXT);
CREATE TABLE IF NOT EXISTS name (
    key TEXT NOT NULL, rank INTEGER NOT NULL, number INTEGER NOT NULL,
    PRIMARY KEY (key, rank, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS site (
    domain TEXT NOT NULL, rank INTEGER NOT NULL, number INTEGER NOT NULL,
    PRIMARY KEY (domain, rank, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS large (key TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_FIELDS = "number, key, name, domain, country, size, linkedin, instagram, tiktok, parent"
_COUNT = "SELECT count(*) FROM company"
_BY_KEY = f"SELECT {_FIELDS} FROM company WHERE key = ?"  # noqa: S608
_PUT = f"INSERT OR REPLACE INTO company ({_FIELDS}) VALUES (?{', ?' * 9})"  # noqa: S608
_ENTER = {
    "name": "INSERT OR IGNORE INTO name VALUES (?, ?, ?)",
    "site": "INSERT OR IGNORE INTO site VALUES (?, ?, ?)",
    "large": "INSERT OR IGNORE INTO large VALUES (?)",
}
#: A key of ``large`` may be another company's, too, and stays: it leads to no company itself.
_FORGET = {
    "name": "DELETE FROM name WHERE key = ? AND rank = ? AND number = ?",
    "site": "DELETE FROM site WHERE domain = ? AND rank = ? AND number = ?",
}
_FOUND = "SELECT company.* FROM (SELECT number FROM {} WHERE {} = ? ORDER BY rank LIMIT ?)"
_BY_NAME = _FOUND.format("name", "key") + " JOIN company USING (number)"
_BY_DOMAIN = _FOUND.format("site", "domain") + " JOIN company USING (number)"
_LARGE_NAMES = "SELECT key FROM large"
