"""The SQLite file of data keys, their index and the secrets; for one thread."""

import os
from collections.abc import Sequence
from pathlib import Path

from cs.keystore.errors import WrongMasterKey
from cs.keystore.wrapping import MasterKeys, Wrapping, secret_name
from cs.runtime.private_files import make_private
from cs.sqlite.database import connect, transaction


class KeyFile:
    """Its keys, index and secrets.  Whoever calls a method that writes holds a transaction.

    What is destroyed is gone from all bytes after that transaction and `wipe`
    (`cs.sqlite.database`).

    Raises:
        WrongMasterKey: On making one: the file belongs to another master key.
        sqlite3.Error: From every method.
    """

    def __init__(self, path: Path, masters: MasterKeys, *, lock_timeout_s: int) -> None:
        make_private(path)
        self.masters = masters
        self.path = path
        self.database = connect(
            path, synchronous="FULL", secure_delete=True, lock_timeout_s=lock_timeout_s
        )
        for statement in _SCHEMA:
            self.database.execute(statement)
        try:
            self._check_master()
        except WrongMasterKey:
            self.database.close()
            raise

    def close(self) -> None:
        self.database.close()

    def _check_master(self) -> None:
        with transaction(self.database):
            columns = self.database.execute("PRAGMA table_info(master)").fetchall()
            if not any(column[1] == "named" for column in columns):
                self.database.execute(_ADD_NAMED)
            created = self.database.execute(
                "INSERT OR IGNORE INTO master (proof) VALUES (?)", (self.masters.first.proof,)
            )
            in_use, _ = self.in_use()
            older = self.database.execute("SELECT proof FROM older_master").fetchall()
            self.masters.check_older(str(self.path), [proof for (proof,) in older])
            # In this transaction, or another process takes it for a file of before.
            secrets = in_use.earlier_secrets()
            if created.rowcount:
                secrets = {name: os.urandom(32) for name in secrets}
            for name, secret in secrets.items():
                self._keep_secret(name, secret)

    # The master key, within a transaction.

    def in_use(self) -> tuple[Wrapping, bool]:
        """Return what wraps new keys, and whether by name; so until the transaction ends."""
        proof, named = self.database.execute("SELECT proof, named FROM master").fetchone()
        return self.masters.in_use(str(self.path), proof), bool(named)

    def wrapped(self, name: str, key: bytes) -> bytes:
        in_use, named = self.in_use()
        return in_use.wrapped(name, key, named=named)

    # Data keys.

    def make(self, names: Sequence[str]) -> dict[str, bytes | None]:
        """Make a key for each of *names* that the file knows nothing of; return them all."""
        in_use, named = self.in_use()
        known = self.look(names)
        rows = [
            (name, in_use.wrapped(name, os.urandom(32), named=named))
            for name in names
            if name not in known
        ]
        self.database.executemany("INSERT INTO data_key VALUES (?, ?)", rows)
        return known | self.look([name for name, _ in rows])

    def look(self, names: Sequence[str]) -> dict[str, bytes | None]:
        found: dict[str, bytes | None] = {}
        for start in range(0, len(names), 500):
            page = names[start : start + 500]
            marks = ",".join("?" * len(page))
            query = f"SELECT name, wrapped FROM data_key WHERE name IN ({marks})"  # noqa: S608
            for name, wrapped in self.database.execute(query, page):
                found[name] = None if wrapped is None else self.masters.unwrapped(name, wrapped)
        return found

    def destroy(self, names: tuple[str, ...]) -> None:
        self._write(_DESTROY, names)

    # Secrets.

    def secret(self, name: str) -> bytes:
        """Return the secret called *name*, made if it is missing."""
        self._keep_secret(name, os.urandom(32))
        found = self.database.execute("SELECT wrapped FROM secret WHERE name = ?", (name,))
        return self.masters.unwrapped(secret_name(name), found.fetchone()[0])

    def _keep_secret(self, name: str, secret: bytes) -> None:
        """Store *secret* unless there is one called *name*."""
        wrapped = self.wrapped(secret_name(name), secret)
        self.database.execute("INSERT OR IGNORE INTO secret VALUES (?, ?)", (name, wrapped))

    # The index of fingerprints.

    def index(self, entries: tuple[tuple[str, str], ...]) -> frozenset[str]:
        """Write *entries*; return the names that are destroyed by them."""
        self.database.executemany("INSERT OR IGNORE INTO person_index VALUES (?, ?)", entries)
        refused = self._select(_SUPPRESSED, tuple({print_ for print_, _ in entries}))
        gone = frozenset(name for print_, name in entries if print_ in refused)
        self._write(_DESTROY, tuple(gone))
        return gone

    def matching(self, fingerprints: tuple[str, ...]) -> frozenset[str]:
        return self._select(_MATCHING, fingerprints)

    def suppress(self, fingerprints: Sequence[str]) -> None:
        self._write("INSERT OR IGNORE INTO suppressed VALUES (?)", fingerprints)

    def unsuppress(self, fingerprints: Sequence[str]) -> None:
        self._write("DELETE FROM suppressed WHERE fingerprint = ?", fingerprints)

    def suppressed(self, fingerprints: tuple[str, ...]) -> frozenset[str]:
        return self._select(_SUPPRESSED, fingerprints)

    def _select(self, query: str, values: tuple[str, ...]) -> frozenset[str]:
        """Return the first column of *query*, asked for *values* a page at a time."""
        found: set[str] = set()
        for start in range(0, len(values), 500):
            page = values[start : start + 500]
            marks = ",".join("?" * len(page))
            found.update(
                row[0] for row in self.database.execute(query.format(marks=marks), page)
            )
        return frozenset(found)

    def _write(self, statement: str, values: Sequence[str]) -> None:
        """Run *statement* with each of *values*."""
        self.database.executemany(statement, [(value,) for value in values])


_DESTROY = (
    "INSERT INTO data_key VALUES (?, NULL) ON CONFLICT (name) DO UPDATE SET wrapped = NULL"
)
#: Until a rotation begins wraps are as the version before reads them.
_ADD_NAMED = "ALTER TABLE master ADD COLUMN named INTEGER NOT NULL DEFAULT 0"
_MATCHING = "SELECT DISTINCT name FROM person_index WHERE fingerprint IN ({marks})"
_SUPPRESSED = "SELECT fingerprint FROM suppressed WHERE fingerprint IN ({marks})"
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS data_key (name TEXT PRIMARY KEY, wrapped BLOB) WITHOUT ROWID",
    (
        "CREATE TABLE IF NOT EXISTS person_index (fingerprint TEXT, name TEXT, "
        "PRIMARY KEY (fingerprint, name)) WITHOUT ROWID"
    ),
    "CREATE TABLE IF NOT EXISTS suppressed (fingerprint TEXT PRIMARY KEY) WITHOUT ROWID",
    (
        "CREATE TABLE IF NOT EXISTS master (one INTEGER PRIMARY KEY CHECK (one = 1) DEFAULT 1, "
        "proof BLOB NOT NULL)"
    ),
    "CREATE TABLE IF NOT EXISTS older_master (proof BLOB PRIMARY KEY)",
    "CREATE TABLE IF NOT EXISTS secret (name TEXT PRIMARY KEY, wrapped BLOB NOT NULL)",
)
