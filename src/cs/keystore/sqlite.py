"""Data keys in a SQLite file of their own (mode 0600)."""

from pathlib import Path

from cs.keystore.port import KeysUnavailable
from cs.keystore.store import StoredKeys
from cs.keystore.wrapping import MasterKeys
from cs.metrics.metrics import Metrics
from cs.sqlite.database import LOCK_TIMEOUT_S, describe
from cs.sqlite.sql import SqliteDatabase


class SqliteKeyStore(StoredKeys):
    """The keys in the file at *path*, in memory without one.

    Waits *lock_timeout_s* for another process's transaction.
    """

    def __init__(
        self,
        path: Path | None,
        master: bytes | MasterKeys,
        *,
        lock_timeout_s: int = LOCK_TIMEOUT_S,
        metrics: Metrics | None = None,
        journal: Path | None = None,
    ) -> None:
        self._file = SqliteDatabase(
            path,
            _SCHEMA,
            thread="keystore",
            secure_delete=True,
            unavailable=_away,
            lock_timeout_s=lock_timeout_s,
        )
        super().__init__(self._file, master, str(path), metrics, journal)

    def stored_secret(self, name: str) -> bytes:
        """Return the secret called *name*, in this thread, of a store that is not entered."""
        try:
            return self._file.transact_here(self._opened(name))
        finally:
            self._file.close_file()


def _away(error: Exception) -> KeysUnavailable:
    return KeysUnavailable(describe(error))


_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS data_key (name TEXT PRIMARY KEY, wrapped BLOB) WITHOUT ROWID",
    (
        "CREATE TABLE IF NOT EXISTS person_index (fingerprint TEXT, name TEXT, "
        "PRIMARY KEY (fingerprint, name)) WITHOUT ROWID"
    ),
    "CREATE TABLE IF NOT EXISTS suppressed (fingerprint TEXT PRIMARY KEY) WITHOUT ROWID",
    (
        "CREATE TABLE IF NOT EXISTS master (one INTEGER PRIMARY KEY CHECK (one = 1) DEFAULT 1, "
        "proof BLOB NOT NULL, named INTEGER NOT NULL DEFAULT 0)"
    ),
    "CREATE TABLE IF NOT EXISTS older_master (proof BLOB PRIMARY KEY)",
    "CREATE TABLE IF NOT EXISTS secret (name TEXT PRIMARY KEY, wrapped BLOB NOT NULL)",
    (
        "CREATE TABLE IF NOT EXISTS log_mark (one INTEGER PRIMARY KEY CHECK (one = 1) "
        "DEFAULT 1, epoch INTEGER NOT NULL, position INTEGER NOT NULL, event TEXT NOT NULL, "
        "seen_at TEXT NOT NULL)"
    ),
    (
        "CREATE TABLE IF NOT EXISTS erasure (id TEXT NOT NULL, at TEXT NOT NULL, "
        "entry TEXT NOT NULL, PRIMARY KEY (id, at))"
    ),
)
