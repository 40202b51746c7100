"""Wrapping the keys in a SQLite file with a new master key (`cs.keystore.rotating`)."""

from cs.keystore.errors import WrongMasterKey
from cs.keystore.sqlite.file import KeyFile
from cs.keystore.wrapping import UNNAMED_SIZE, secret_name, version_of
from cs.sqlite.database import transaction, wipe


def versions(file: KeyFile) -> list[str]:
    with transaction(file.database):
        older = file.database.execute("SELECT proof FROM older_master").fetchall()
        return [file.in_use()[0].version, *(version_of(proof) for (proof,) in older)]


def begin(file: KeyFile, version: str) -> None:
    with transaction(file.database):
        (in_use, _), new = file.in_use(), file.masters.get(version)
        if new is None:
            raise WrongMasterKey(f"this process does not hold the master key {version}")
        if new.version != in_use.version:
            file.database.execute(
                "INSERT OR IGNORE INTO older_master VALUES (?)", (in_use.proof,)
            )
            file.database.execute("DELETE FROM older_master WHERE proof = ?", (new.proof,))
        file.database.execute("UPDATE master SET proof = ?, named = 1", (new.proof,))


def rewrap(file: KeyFile, after: str, limit: int) -> tuple[str, int]:
    with transaction(file.database):
        in_use, named = file.in_use()
        asked = (in_use.mark, after, limit)
        rows = file.database.execute(_OTHERWISE, asked).fetchall()
        keys = [(name, file.masters.unwrapped(name, wrapped)) for name, wrapped in rows]
        anew = [(in_use.wrapped(name, key, named=named), name) for name, key in keys]
        file.database.executemany("UPDATE data_key SET wrapped = ? WHERE name = ?", anew)
    return (rows[-1][0] if rows else after), len(rows)


def left(file: KeyFile) -> int:
    with transaction(file.database):
        in_use, _ = file.in_use()
        return int(file.database.execute(_LEFT, (in_use.mark,)).fetchone()[0])


def end(file: KeyFile) -> None:
    with transaction(file.database):
        rows = file.database.execute("SELECT name, wrapped FROM secret").fetchall()
        names = [(secret_name(name), name, wrapped) for name, wrapped in rows]
        anew = [(file.wrapped(s, file.masters.unwrapped(s, w)), n) for s, n, w in names]
        file.database.executemany("UPDATE secret SET wrapped = ? WHERE name = ?", anew)
        file.database.execute("DELETE FROM older_master")
    wipe(file.database)


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
