"""Data keys in a SQLite file of their own (mode 0600), wrapped by a master key."""

import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec, Self, TypeVar

from cs.keystore.errors import KeysUnavailable, OpenToOthers, WrongMasterKey
from cs.keystore.lost import LostValues
from cs.keystore.open_keys import OpenKeys, ensured
from cs.keystore.wrapping import (
    FINGERPRINTS,
    UNNAMED_SIZE,
    MasterKeys,
    Wrapping,
    fingerprint,
    secret_name,
    version_of,
)
from cs.runtime.private_files import exposed, make_private
from cs.sqlite.database import (
    LOCK_TIMEOUT_S,
    DatabaseThreads,
    connect,
    transaction,
    truncate_wal,
)
from cs.sqlite.errors import describe

P = ParamSpec("P")
T = TypeVar("T")

#: How often the write-ahead log is emptied until nobody reads it; each waits as long.
WIPES = 3


def existing_master_key(path: Path) -> bytes:
    """As `master_key`, and it is there.

    Raises:
        OSError: It is not, or cannot be read.
    """
    if exposure := exposed(path):
        raise OpenToOthers(f"the master key {exposure}")
    key = path.read_bytes()
    if len(key) != 32:
        raise WrongMasterKey(f"{path} holds {len(key)} bytes, not a 32-byte key")
    return key


def master_key(path: Path) -> bytes:
    """Return the 32-byte master key in the file at *path*, making it (0600) if missing.

    Raises:
        WrongMasterKey: The file does not hold a key.
        OpenToOthers: Others may read it.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return existing_master_key(path)
    key = os.urandom(32)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(key)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink()  # half a key would be taken for a damaged one
        raise
    return key


class SqliteKeyStore:
    """One writer thread; opened keys are cached, least recently used first out.

    Waits *lock_timeout_s* for another process's transaction.
    """

    def __init__(
        self, path: Path, master: bytes | MasterKeys, *, lock_timeout_s: int = LOCK_TIMEOUT_S
    ) -> None:
        make_private(path)
        self._thread = DatabaseThreads("keystore")
        self._masters = MasterKeys.of(master)
        self._path = path
        self._open = OpenKeys()
        self.lost = LostValues()
        self._db = connect(
            path, synchronous="FULL", secure_delete=True, lock_timeout_s=lock_timeout_s
        )
        for statement in _SCHEMA:
            self._db.execute(statement)
        try:
            self._check_master()
        except WrongMasterKey:
            self._db.close()
            raise
        self._secrets = {FINGERPRINTS: self.stored_secret(FINGERPRINTS)}

    def _check_master(self) -> None:
        with transaction(self._db):
            columns = self._db.execute("PRAGMA table_info(master)").fetchall()
            if not any(column[1] == "named" for column in columns):
                self._db.execute(_ADD_NAMED)
            made = self._db.execute(
                "INSERT OR IGNORE INTO master (proof) VALUES (?)", (self._masters.first.proof,)
            )
            in_use, _ = self._in_use()
            older = self._db.execute("SELECT proof FROM older_master").fetchall()
            self._masters.check_older(str(self._path), [proof for (proof,) in older])
            # In this transaction, or one who opens it beside us takes it for an older store.
            first = in_use.earlier_secrets()
            if made.rowcount:
                first = {name: os.urandom(32) for name in first}
            for name, secret in first.items():
                self._keep_secret(name, secret)

    def _in_use(self) -> tuple[Wrapping, bool]:
        """Return what wraps new keys, and whether named: within a transaction until its end."""
        proof, named = self._db.execute("SELECT proof, named FROM master").fetchone()
        return self._masters.in_use(str(self._path), proof), bool(named)

    def _wrapped(self, name: str, key: bytes) -> bytes:
        in_use, named = self._in_use()
        return in_use.wrapped(name, key, named=named)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._thread.close()
        self._db.close()

    async def ensure(self, names: Iterable[str]) -> Mapping[str, bytes]:
        return await ensured(
            self._open, self.lost, names, lambda wanted: self._run(self._ensure, wanted)
        )

    async def find(self, names: Iterable[str]) -> Mapping[str, bytes]:
        return await self._open.get(names, lambda missing: self._run(self._find, missing))

    async def look(self, names: Iterable[str]) -> Mapping[str, bytes | None]:
        held, _ = await self._open.anew(names, lambda wanted: self._run(self._look, wanted))
        return held

    async def index(self, entries: Iterable[tuple[str, str]]) -> None:
        self._open.drop(await self._run(self._write_index, tuple(entries)))

    async def secret(self, name: str) -> bytes:
        if name not in self._secrets:
            self._secrets[name] = await self._run(self.stored_secret, name)
        return self._secrets[name]

    def fingerprint(self, kind: str, value: str) -> str:
        return fingerprint(self._secrets[FINGERPRINTS], kind, value)

    async def matching(self, fingerprints: Iterable[str]) -> frozenset[str]:
        return await self._run(self._select, _MATCHING, tuple(fingerprints))

    async def suppress(self, fingerprints: Iterable[str]) -> None:
        rows = [(fingerprint,) for fingerprint in fingerprints]
        await self._run(self._write, "INSERT OR IGNORE INTO suppressed VALUES (?)", rows)

    async def unsuppress(self, fingerprints: Iterable[str]) -> None:
        rows = [(fingerprint,) for fingerprint in fingerprints]
        await self._run(self._write, "DELETE FROM suppressed WHERE fingerprint = ?", rows)

    async def suppressed(self, fingerprints: Iterable[str]) -> frozenset[str]:
        return await self._run(self._select, _SUPPRESSED, tuple(fingerprints))

    async def destroy(self, names: Iterable[str]) -> None:
        gone = tuple(names)
        await self._run(self._destroy, gone)
        self.forget()

    def forget(self) -> None:
        self._open.forget()

    async def versions(self) -> Sequence[str]:
        """Return the master key in use, then those that keys are wrapped with still."""
        return await self._run(self._versions)

    async def begin_rotation(self, version: str) -> None:
        await self._run(self._begin_rotation, version)

    async def rewrap(self, after: str, limit: int) -> tuple[str, int]:
        return await self._run(self._rewrap, after, limit)

    async def left(self) -> int:
        return await self._run(self._left)

    async def end_rotation(self) -> None:
        await self._run(self._end_rotation)

    async def _run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await self._thread.run(function, *args, **kwargs)
        except sqlite3.Error as error:
            raise KeysUnavailable(describe(error)) from error

    # What runs in the thread.

    def _ensure(self, names: Sequence[str]) -> dict[str, bytes]:
        found = self._find(names)
        missing = [name for name in names if name not in found]
        if missing:
            with transaction(self._db):
                in_use, named = self._in_use()
                rows = [
                    (name, in_use.wrapped(name, os.urandom(32), named=named))
                    for name in missing
                ]
                self._db.executemany("INSERT OR IGNORE INTO data_key VALUES (?, ?)", rows)
            found |= self._find(missing)
        return found

    def _find(self, names: Sequence[str]) -> dict[str, bytes]:
        return {name: key for name, key in self._look(names).items() if key is not None}

    def _look(self, names: Sequence[str]) -> dict[str, bytes | None]:
        found: dict[str, bytes | None] = {}
        for start in range(0, len(names), 500):
            page = names[start : start + 500]
            marks = ",".join("?" * len(page))
            query = f"SELECT name, wrapped FROM data_key WHERE name IN ({marks})"  # noqa: S608
            for name, wrapped in self._db.execute(query, page):
                found[name] = (
                    None if wrapped is None else self._masters.unwrapped(name, wrapped)
                )
        return found

    def _versions(self) -> list[str]:
        with transaction(self._db):
            older = self._db.execute("SELECT proof FROM older_master").fetchall()
            return [self._in_use()[0].version, *(version_of(proof) for (proof,) in older)]

    def _begin_rotation(self, version: str) -> None:
        with transaction(self._db):
            (in_use, _), new = self._in_use(), self._masters.get(version)
            if new is None:
                raise WrongMasterKey(f"this process does not hold the master key {version}")
            if new.version != in_use.version:
                self._db.execute(
                    "INSERT OR IGNORE INTO older_master VALUES (?)", (in_use.proof,)
                )
                self._db.execute("DELETE FROM older_master WHERE proof = ?", (new.proof,))
            self._db.execute("UPDATE master SET proof = ?, named = 1", (new.proof,))

    def _rewrap(self, after: str, limit: int) -> tuple[str, int]:
        with transaction(self._db):
            in_use, named = self._in_use()
            asked = (in_use.mark, after, limit)
            rows = self._db.execute(_OTHERWISE, asked).fetchall()
            keys = [(name, self._masters.unwrapped(name, wrapped)) for name, wrapped in rows]
            anew = [(in_use.wrapped(name, key, named=named), name) for name, key in keys]
            self._db.executemany("UPDATE data_key SET wrapped = ? WHERE name = ?", anew)
        return (rows[-1][0] if rows else after), len(rows)

    def _left(self) -> int:
        with transaction(self._db):
            in_use, _ = self._in_use()
            return int(self._db.execute(_LEFT, (in_use.mark,)).fetchone()[0])

    def _end_rotation(self) -> None:
        with transaction(self._db):
            rows = self._db.execute("SELECT name, wrapped FROM secret").fetchall()
            names = [(secret_name(name), name, wrapped) for name, wrapped in rows]
            anew = [(self._wrapped(s, self._masters.unwrapped(s, w)), n) for s, n, w in names]
            self._db.executemany("UPDATE secret SET wrapped = ? WHERE name = ?", anew)
            self._db.execute("DELETE FROM older_master")
        self._wipe()

    def stored_secret(self, name: str) -> bytes:
        """Return what `secret` does, in this thread."""
        with transaction(self._db):
            self._keep_secret(name, os.urandom(32))
            found = self._db.execute("SELECT wrapped FROM secret WHERE name = ?", (name,))
            return self._masters.unwrapped(secret_name(name), found.fetchone()[0])

    def _keep_secret(self, name: str, secret: bytes) -> None:
        """Store *secret* unless there is one called *name*."""
        wrapped = self._wrapped(secret_name(name), secret)
        self._db.execute("INSERT OR IGNORE INTO secret VALUES (?, ?)", (name, wrapped))

    def _destroy(self, names: tuple[str, ...]) -> None:
        if names:
            self._write(_DESTROY, [(name,) for name in names])
            self._wipe()

    def _wipe(self) -> None:
        """Empty the write-ahead log: it holds pages as they were before.

        Raises:
            sqlite3.OperationalError: Another process kept reading it.
        """
        for _ in range(WIPES):
            if truncate_wal(self._db):
                return
        raise sqlite3.OperationalError("the key store is in use; destroyed keys may linger")

    def _write_index(self, entries: tuple[tuple[str, str], ...]) -> frozenset[str]:
        """Write *entries*; return the names that are destroyed by them."""
        if not entries:
            return frozenset()
        with transaction(self._db):
            self._db.executemany("INSERT OR IGNORE INTO person_index VALUES (?, ?)", entries)
            refused = self._select(_SUPPRESSED, tuple({print_ for print_, _ in entries}))
            gone = frozenset(name for print_, name in entries if print_ in refused)
            self._db.executemany(_DESTROY, [(name,) for name in gone])
        if gone:
            self._wipe()
        return gone

    def _select(self, query: str, values: tuple[str, ...]) -> frozenset[str]:
        """Return the first column of *query*, asked for *values* a page at a time."""
        found: set[str] = set()
        for start in range(0, len(values), 500):
            page = values[start : start + 500]
            marks = ",".join("?" * len(page))
            found.update(row[0] for row in self._db.execute(query.format(marks=marks), page))
        return frozenset(found)

    def _write(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Run *statement* with each of *rows*, all in one durable transaction."""
        with transaction(self._db):
            self._db.executemany(statement, rows)


_DESTROY = (
    "INSERT INTO data_key VALUES (?, NULL) ON CONFLICT (name) DO UPDATE SET wrapped = NULL"
)
#: Before the first rotation an unnamed wrap is one of the master key in use.
_BY_ANOTHER = (
    "wrapped IS NOT NULL AND substr(wrapped, 1, 5) <> ? "  # noqa: S608
    f"AND ((SELECT named FROM master) OR length(wrapped) <> {UNNAMED_SIZE})"
)
_OTHERWISE = (
    f"SELECT name, wrapped FROM data_key WHERE {_BY_ANOTHER} "  # noqa: S608
    "AND name > ? ORDER BY name LIMIT ?"
)
_LEFT = f"SELECT count(*) FROM data_key WHERE {_BY_ANOTHER}"  # noqa: S608
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
