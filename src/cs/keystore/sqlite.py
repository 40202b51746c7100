"""Data keys in a SQLite file of their own (mode 0600), wrapped by a master key."""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ParamSpec, Self, TypeVar

from cs.keystore.lost import LostValues
from cs.keystore.open_keys import OpenKeys, ensured
from cs.keystore.port import KeysUnavailable, WrongMasterKey
from cs.keystore.wrapping import FINGERPRINTS, Wrapping, fingerprint, secret_name
from cs.private_files import exposed, make_private
from cs.sqlite_errors import told

P = ParamSpec("P")
T = TypeVar("T")

#: How long to wait for another process's transaction.
LOCK_TIMEOUT_S = 10
#: How often the write-ahead log is emptied until nobody reads it; each waits as long.
WIPES = 3


class OpenToOthers(Exception):
    """Others may read the master key; the message says how to mend it."""


def master_key(path: Path) -> bytes:
    """Return the 32-byte master key in the file at *path*, making it (0600) if missing.

    Raises:
        WrongMasterKey: The file does not hold a key.
        OpenToOthers: Others may read it.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if exposure := exposed(path):
            raise OpenToOthers(f"the master key {exposure}") from None
        key = path.read_bytes()
        if len(key) != 32:
            raise WrongMasterKey(f"{path} holds {len(key)} bytes, not a 32-byte key") from None
        return key
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
        self, path: Path, master: bytes, *, lock_timeout_s: int = LOCK_TIMEOUT_S
    ) -> None:
        make_private(path)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="keystore")
        self._wrapping = Wrapping(master)
        self._open = OpenKeys()
        self.lost = LostValues()
        self._db = sqlite3.connect(
            path, check_same_thread=False, isolation_level=None, timeout=lock_timeout_s
        )
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute("PRAGMA secure_delete=ON")
        for statement in _SCHEMA:
            self._db.execute(statement)
        self._check_master(path)
        self._secrets = {FINGERPRINTS: self._secret(FINGERPRINTS)}

    def _check_master(self, path: Path) -> None:
        proof = self._wrapping.proof
        with self._transaction():
            made = self._db.execute("INSERT OR IGNORE INTO master (proof) VALUES (?)", (proof,))
            right = self._db.execute("SELECT proof FROM master").fetchone()[0] == proof
            # In this transaction, or one who opens it beside us takes it for an older store.
            first = self._wrapping.earlier_secrets()
            if made.rowcount:
                first = {name: os.urandom(32) for name in first}
            for name, secret in first.items() if right else ():
                self._keep_secret(name, secret)
        if not right:
            self._db.close()
            raise WrongMasterKey(f"{path} was made with another master key")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._thread.shutdown(wait=True)
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
            self._secrets[name] = await self._run(self._secret, name)
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

    async def _run(self, function: Callable[P, T], *args: P.args, **_: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, function, *args)
        except sqlite3.Error as error:
            raise KeysUnavailable(told(error)) from error

    # What runs in the thread.

    def _ensure(self, names: Sequence[str]) -> dict[str, bytes]:
        found = self._find(names)
        rows = [
            (name, self._wrapping.wrapped(name, os.urandom(32)))
            for name in names
            if name not in found
        ]
        if rows:
            self._write("INSERT OR IGNORE INTO data_key VALUES (?, ?)", rows)
            found |= self._find([name for name, _ in rows])
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
                    None if wrapped is None else self._wrapping.unwrapped(name, wrapped)
                )
        return found

    def _secret(self, name: str) -> bytes:
        with self._transaction():
            self._keep_secret(name, os.urandom(32))
            found = self._db.execute("SELECT wrapped FROM secret WHERE name = ?", (name,))
            return self._wrapping.unwrapped(secret_name(name), found.fetchone()[0])

    def _keep_secret(self, name: str, secret: bytes) -> None:
        """Store *secret* unless there is one called *name*."""
        wrapped = self._wrapping.wrapped(secret_name(name), secret)
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
            busy, _, _ = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy:
                return
        raise sqlite3.OperationalError("the key store is in use; destroyed keys may linger")

    def _write_index(self, entries: tuple[tuple[str, str], ...]) -> frozenset[str]:
        """Write *entries*; return the names that are destroyed by them."""
        if not entries:
            return frozenset()
        with self._transaction():
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
        with self._transaction():
            self._db.executemany(statement, rows)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Store all that is written within, or nothing; the store can be used after both."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # a full disk has ended it already
                self._db.execute("ROLLBACK")
            raise


_DESTROY = (
    "INSERT INTO data_key VALUES (?, NULL) ON CONFLICT (name) DO UPDATE SET wrapped = NULL"
)
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
    "CREATE TABLE IF NOT EXISTS secret (name TEXT PRIMARY KEY, wrapped BLOB NOT NULL)",
)
