"""Data keys in a database of their own, wrapped by a master key; for both kinds of database.

What it stores is useless without the master key, which is in no database.

Statements that store a wrap name the master key in use, and store nothing if the store says
something else by then: it is read again and wrapped again.
"""

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

from cs.keystore.lost import LostValue, LostValues
from cs.keystore.port import KeysUnavailable, WrongMasterKey
from cs.keystore.recovery import RecoveryRecord
from cs.keystore.wrapping import (
    FINGERPRINTS,
    UNNAMED_SIZE,
    MasterKeys,
    fingerprint,
    secret_name,
    version_of,
)
from cs.metrics.metrics import Metrics
from cs.runtime.lru import LruDict
from cs.runtime.private_files import DeletedDataRemains
from cs.runtime.sql import Database, Many, Rows, Work

#: Unwrapped keys in memory: 32 bytes each and their names.
CACHED = 20_000
#: Keys that one transaction of a rotation wraps again: some 10 ms of the store's writer.
REWRAPPED = 500


class StoredKeys:
    """The keys in *database* (`cs.keystore.port.KeyStore`); use as ``async with``.

    Keys and secrets that were read stay in memory, unwrapped.  What is destroyed here is
    dropped from memory; `forget` is for what others destroyed.

    Args:
        database: With the tables of keys.
        master: 32 bytes, or two such while the master key is changed.
        where: What messages call the database.
        metrics: Where reads from memory are counted.
        journal: A file that gets every erasure (`RecoveryRecord`).

    Raises:
        KeysUnavailable: From every method: the database is away.
        WrongMasterKey: On entering: the store was made with another master key.
    """

    def __init__(
        self,
        database: Database,
        master: bytes | MasterKeys,
        where: str,
        metrics: Metrics | None = None,
        journal: Path | None = None,
    ) -> None:
        self.lost = LostValues()
        self.recovery = RecoveryRecord(database, journal)
        self._database = database
        self._masters = MasterKeys.of(master)
        self._where = where
        self._wrapping = self._masters.first  # as the store said when it was last asked
        self._open = LruDict[str, bytes](CACHED)
        self._forgotten = 0  # how often
        self._counters = (metrics or Metrics()).cache("data-keys", self._open.__len__, CACHED)
        self._secrets: dict[str, bytes] = {}

    async def __aenter__(self) -> Self:
        try:
            opening = self._opened(FINGERPRINTS)
            self._secrets[FINGERPRINTS] = await self._database.transact(opening)
        except BaseException:
            await self._database.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self.forget()
        await self._database.close()

    def _opened(self, secret: str) -> Work[bytes]:
        """Check that this process holds the master keys; return *secret*."""
        yield _MAKE_MASTER, self._masters.first.proof
        yield from self._read_master()
        older = yield (_OLDER,)
        self._masters.check_older(self._where, [proof for (proof,) in older])
        return (yield from self._secret(secret))

    # Data keys.

    async def ensure(self, names: Iterable[str]) -> Mapping[str, bytes]:
        return await self.ensure_indexed(names, ())

    async def ensure_indexed(
        self, names: Iterable[str], entries: Iterable[tuple[str, str]]
    ) -> Mapping[str, bytes]:
        wanted = tuple(dict.fromkeys(names))
        before = {name: self._open[name] for name in wanted if name in self._open}

        async def make() -> Mapping[str, bytes | None]:
            return await self._made(wanted, await self._indexed(entries, wanted))

        found = _existing(await self._read(wanted, make()))
        # A name that had another key until now had it from a store that has forgotten it:
        # what was sealed with that one is lost.
        replaced = sorted(name for name, key in before.items() if found.get(name, key) != key)
        self.lost.note(LostValue(name, "another") for name in replaced)
        return found

    async def find(self, names: Iterable[str]) -> Mapping[str, bytes]:
        wanted = tuple(dict.fromkeys(names))
        found = {name: self._open[name] for name in wanted if name in self._open}
        for name in found:
            self._open.use(name)
        missing = [name for name in wanted if name not in found]
        self._counters.hits.inc(len(found))
        self._counters.misses.inc(len(missing))
        if missing:
            found |= _existing(await self._read(missing, self._stored_keys(missing)))
        return found

    async def look(self, names: Iterable[str]) -> Mapping[str, bytes | None]:
        wanted = tuple(dict.fromkeys(names))
        return await self._read(wanted, self._stored_keys(wanted))

    async def _read(
        self, names: Sequence[str], reading: Awaitable[Mapping[str, bytes | None]]
    ) -> Mapping[str, bytes | None]:
        """Return what *reading* gives for *names*, and have that in memory from then on."""
        before = self._forgotten
        found = await reading
        self._drop(names)
        if before == self._forgotten:  # else it may have been destroyed since
            self._open.update(_existing(found))
        return found

    def _drop(self, names: Iterable[str]) -> None:
        for name in names:
            self._open.pop(name, None)

    async def destroy(self, names: Iterable[str]) -> None:
        destroyed = sorted(set(names))
        try:
            if destroyed:
                await self._database.fetch_many(_DESTROY, [(name,) for name in destroyed])
                await self._database.wipe_parts("data_key", "name", destroyed)
        finally:
            self.forget()

    def forget(self) -> None:
        self._open.clear()
        self._forgotten += 1

    async def _stored_keys(self, names: Sequence[str]) -> dict[str, bytes | None]:
        """Return what is stored of *names*; ``None`` for a destroyed key."""
        return self._unwrapped(await self._database.fetch(_LOOK, list(names)))

    def _unwrapped(self, rows: Rows) -> dict[str, bytes | None]:
        return {
            name: None if wrapped is None else self._masters.unwrapped(name, wrapped)
            for name, wrapped in rows
        }

    async def _made(
        self, names: Sequence[str], stored: dict[str, bytes | None]
    ) -> Mapping[str, bytes | None]:
        """Return the keys of *names*, made if missing; *stored* is what is there of them."""
        while missing := sorted(set(names) - stored.keys()):
            keys = {name: os.urandom(32) for name in missing}
            made = await self._database.fetch_many(
                _MAKE, [(name, *self._wrapped(name, keys[name])) for name in missing]
            )
            stored |= {name: keys[name] for (name,) in made}
            if not made:  # all are there by now, or another master key is in use
                await self._database.transact(self._read_master())
            if len(made) < len(missing):
                stored |= await self._stored_keys(missing)
        return stored

    # The index of fingerprints.

    async def matching(self, fingerprints: Iterable[str]) -> frozenset[str]:
        return await self._column(_MATCHING, fingerprints)

    async def suppress(self, fingerprints: Iterable[str]) -> None:
        rows = [(each,) for each in sorted(set(fingerprints))]

        def suppress() -> Work[None]:
            # Waits for every index under way, so that `matching` is complete afterwards.
            yield ("LOCK TABLE suppressed IN EXCLUSIVE MODE",)
            yield Many(_SUPPRESS, rows)

        await self._database.transact(suppress())

    async def unsuppress(self, fingerprints: Iterable[str]) -> None:
        await self._database.fetch(_UNSUPPRESS, list(fingerprints))

    async def suppressed(self, fingerprints: Iterable[str]) -> frozenset[str]:
        return await self._column(_SUPPRESSED, fingerprints)

    async def _column(self, query: str, values: Iterable[str]) -> frozenset[str]:
        return frozenset(value for (value,) in await self._database.fetch(query, list(values)))

    async def _indexed(
        self, entries: Iterable[tuple[str, str]], names: Sequence[str]
    ) -> dict[str, bytes | None]:
        """Index *entries*; return what is stored of *names* after that."""
        rows = sorted(set(entries))  # in one order everywhere, or two callers may deadlock
        if not rows:
            return await self._stored_keys(names) if names else {}
        destroyed, stored = await self._index(rows, names)
        self._drop(destroyed)
        if destroyed:
            try:
                await self._database.wipe_parts("data_key", "name", destroyed)
            except DeletedDataRemains as error:  # the append is tried again
                raise KeysUnavailable(str(error)) from error
        return self._unwrapped(stored)

    async def _index(
        self, entries: Sequence[tuple[str, str]], names: Sequence[str]
    ) -> tuple[Sequence[str], Rows]:
        """Index *entries*; return the names destroyed by that, and the rows of *names*."""

        def index() -> Work[tuple[Sequence[str], Rows]]:
            yield Many(_INDEX, entries)
            found = yield _SUPPRESSED, sorted({print_ for print_, _ in entries})
            refused = {print_ for (print_,) in found}
            destroyed = sorted({name for print_, name in entries if print_ in refused})
            yield Many(_DESTROY, [(name,) for name in destroyed])
            return destroyed, (yield _LOOK, list(names))

        return await self._database.transact(index())

    # Secrets.

    async def secret(self, name: str) -> bytes:
        if name not in self._secrets:
            self._secrets[name] = await self._database.transact(self._secret(name))
        return self._secrets[name]

    def fingerprint(self, kind: str, value: str) -> str:
        return fingerprint(self._secrets[FINGERPRINTS], kind, value)

    def _secret(self, name: str) -> Work[bytes]:
        while not (found := (yield _SECRET, name)):
            yield from self._read_master()
            yield _KEEP_SECRET, name, *self._wrapped(secret_name(name), os.urandom(32))
        return self._masters.unwrapped(secret_name(name), found[0][0])

    # The master key.

    def _read_master(self) -> Work[None]:
        ((proof,),) = yield ("SELECT proof FROM master",)
        self._wrapping = self._masters.in_use(self._where, proof)

    def _wrapped(self, name: str, key: bytes) -> tuple[bytes, bytes]:
        """Return *key*, wrapped, and what `_IN_USE` is to find in the store."""
        return self._wrapping.wrapped(name, key), self._wrapping.proof

    async def versions(self) -> Sequence[str]:
        """Return the master key in use, then those that keys are wrapped with still."""

        def versions() -> Work[list[str]]:
            yield from self._read_master()
            older = yield (_OLDER,)
            return [self._wrapping.version, *(version_of(proof) for (proof,) in older)]

        return await self._database.transact(versions())

    async def rotate(self, version: str, on_progress: Callable[[int, int], None]) -> int:
        """Wrap everything with the master key *version*, while it is used.

        Cut off anywhere, it is gone on with by doing it again: each wrap names its master key.

        Args:
            version: Of a master key that this process holds.
            on_progress: Called after every batch: with keys done, and all there were.

        Returns:
            How many keys were wrapped again.

        Raises:
            WrongMasterKey: This process does not hold it.
        """
        await self.begin_rotation(version)
        done, after, every = 0, "", await self.left()
        while True:
            after, wrapped = await self.rewrap(after, REWRAPPED)
            done += wrapped
            if wrapped:
                on_progress(done, max(every, done))
            elif not (left := await self.left()):
                break
            else:  # some changed while they were wrapped
                every, after = done + left, ""
        await self.end_rotation()
        return done

    async def begin_rotation(self, version: str) -> None:
        """Let the master key *version* wrap from now on, in all processes."""
        new = self._masters.get(version)
        if new is None:
            raise WrongMasterKey(f"this process does not hold the master key {version}")

        def begin() -> Work[None]:
            # A process that makes a key now sees the new master key after the commit.
            yield ("LOCK TABLE ONLY data_key IN SHARE MODE",)
            yield ("LOCK TABLE secret IN SHARE MODE",)
            yield from self._read_master()
            if self._wrapping.version != version:
                yield _ADD_OLDER, self._wrapping.proof
                yield "DELETE FROM older_master WHERE proof = $1", new.proof
            yield "UPDATE master SET proof = $1, named = true", new.proof

        await self._database.transact_locking(begin)
        self._wrapping = new

    async def rewrap(self, after: str, limit: int) -> tuple[str, int]:
        """Wrap up to *limit* keys again, by name after *after*; return the last, how many."""

        def rewrap() -> Work[list[str]]:
            yield from self._read_master()
            rows = yield _BY_ANOTHER, self._wrapping.mark, after, limit
            keys = [(name, old, self._masters.unwrapped(name, old)) for name, old in rows]
            yield Many(
                _REWRAP, [(name, old, self._wrapped(name, key)[0]) for name, old, key in keys]
            )
            return [name for name, _ in rows]

        names = await self._database.transact(rewrap())
        return (names[-1] if names else after), len(names)

    async def left(self) -> int:
        """Return how many keys are wrapped with another master key than is in use."""

        def left() -> Work[int]:
            yield from self._read_master()
            ((found,),) = yield _LEFT, self._wrapping.mark
            return int(found)

        return await self._database.transact(left())

    async def end_rotation(self) -> None:
        """Wrap the secrets again; the old one is needed no more, and old wraps are gone."""

        def rewrap_secrets() -> Work[None]:
            yield from self._read_master()
            for name, old in (yield ("SELECT name, wrapped FROM secret FOR UPDATE",)):
                secret = self._masters.unwrapped(secret_name(name), old)
                wrapped, _ = self._wrapped(secret_name(name), secret)
                yield "UPDATE secret SET wrapped = $2 WHERE name = $1", name, wrapped

        await self._database.transact_locking(rewrap_secrets)
        await self._database.wipe_parts("data_key", "name")
        await self._database.fetch("DELETE FROM older_master")


def _existing(keys: Mapping[str, bytes | None]) -> dict[str, bytes]:
    return {name: key for name, key in keys.items() if key is not None}


_LOOK = "SELECT name, wrapped FROM data_key WHERE name = ANY($1::text[])"
#: Nothing is wrapped with a master key that is in use no more.
_IN_USE = "WHERE EXISTS (SELECT 1 FROM master WHERE proof = $3)"
_MAKE = f"""
INSERT INTO data_key SELECT $1, $2::bytea {_IN_USE}
ON CONFLICT DO NOTHING RETURNING name
"""
_DESTROY = """
INSERT INTO data_key VALUES ($1, NULL) ON CONFLICT (name) DO UPDATE SET wrapped = NULL
"""

_INDEX = "INSERT INTO person_index VALUES ($1, $2) ON CONFLICT DO NOTHING"
_MATCHING = "SELECT DISTINCT name FROM person_index WHERE fingerprint = ANY($1::text[])"
_SUPPRESSED = "SELECT fingerprint FROM suppressed WHERE fingerprint = ANY($1::text[])"
_SUPPRESS = "INSERT INTO suppressed VALUES ($1) ON CONFLICT DO NOTHING"
_UNSUPPRESS = "DELETE FROM suppressed WHERE fingerprint = ANY($1::text[])"

_SECRET = "SELECT wrapped FROM secret WHERE name = $1"  # noqa: S105
_KEEP_SECRET = f"INSERT INTO secret SELECT $1, $2::bytea {_IN_USE} ON CONFLICT DO NOTHING"

_MAKE_MASTER = "INSERT INTO master (one, proof) VALUES (1, $1) ON CONFLICT DO NOTHING"
_OLDER = "SELECT proof FROM older_master"
_ADD_OLDER = "INSERT INTO older_master VALUES ($1) ON CONFLICT DO NOTHING"
#: Before the first rotation (``named``) an unnamed wrap is one of the master key in use.
_OTHERWISE = f"""
wrapped IS NOT NULL AND substr(wrapped, 1, 5) <> $1
AND ((SELECT named FROM master) OR length(wrapped) <> {UNNAMED_SIZE})
"""  # noqa: S608
_BY_ANOTHER = f"""
SELECT name, wrapped FROM data_key WHERE {_OTHERWISE} AND name > $2 ORDER BY name LIMIT $3
"""  # noqa: S608
_LEFT = f"SELECT count(*) FROM data_key WHERE {_OTHERWISE}"  # noqa: S608
_REWRAP = "UPDATE data_key SET wrapped = $3 WHERE name = $1 AND wrapped = $2"
