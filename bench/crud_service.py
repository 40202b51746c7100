"""What the thin path is measured against: services as one would write them by hand.

``crud`` stores one durable row a POST and reads one a GET, without keys, limits, reuse or a
record of what happened; ``crud_postgres`` does so in PostgreSQL.

``keyed`` and ``keyed_postgres`` are what of that could be shown to callers: a call has a key,
found by its hash in the statement that reads the row; 120 calls a minute of each, counted in
memory; headers that tell so; a POST is charged to its key in the transaction that stores it,
and answered with the whole record, as a search that is answered from reuse.

    .venv/bin/python -m uvicorn --app-dir bench --loop uvloop --http h11 crud_service:crud
"""

import contextlib
import hashlib
import os
import secrets
import sqlite3
import threading
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

USAGE = {"quota": 1000, "used": 1, "remaining": 999}
#: Of services with keys: how many there are, and calls of each a minute.
KEYS, PER_MINUTE = 4_000, 120
#: As long as a finished search of the bundled world with three people.
PERSON = {
    "full_name": "Ada Example",
    "first_name": "Ada",
    "last_name": "Example",
    "title": "Influencer Marketing Manager",
    "headline": "Influencer Marketing Manager at Example, creators and partnerships",
    "company": "Example",
    "email": "ada.example@example.test",
    "email_status": "verified",
    "email_source": "pattern",
    "linkedin_url": "https://www.linkedin.test/in/ada-example",
    "location": "Berlin, Germany",
}


#: Status, brand, person and time of a search.
Row = tuple[str, str, str, str]
#: The same, quota and used units of its key.
KeyedRow = tuple[str, str, str, str, int, int]


def secret_of(number: int) -> str:
    """Return the API key of that number."""
    return f"crud_live_{number:028}"


def hash_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class Rows:
    """One SQLite file, one connection, a lock around it."""

    def __init__(self, path: str) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS search "
            "(id TEXT PRIMARY KEY, status TEXT, brand TEXT, person TEXT, at TEXT)"
        )
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS api_key (hash TEXT PRIMARY KEY, quota INT, used INT)"
        )
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS keyed (id TEXT PRIMARY KEY, key TEXT, status TEXT, "
            "brand TEXT, person TEXT, at TEXT)"
        )

    async def add_keys(self, hashes: list[str]) -> None:
        self._db.executemany(
            "INSERT OR IGNORE INTO api_key VALUES (?, 1000, 0)", [(each,) for each in hashes]
        )

    async def charge(self, key: str, brand: str) -> tuple[str, int, int] | None:
        return await run_in_threadpool(self._charge, secrets.token_hex(13), key, brand)

    def _charge(self, search: str, key: str, brand: str) -> tuple[str, int, int] | None:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            found = self._db.execute(
                "UPDATE api_key SET used = used + 1 WHERE hash = ? AND used < quota "
                "RETURNING quota, used",
                (key,),
            ).fetchone()
            if found is not None:
                self._db.execute(
                    "INSERT INTO keyed VALUES (?, ?, 'done', ?, ?, datetime())",
                    (search, key, brand, PERSON["full_name"]),
                )
            self._db.execute("COMMIT")
        return None if found is None else (search, *found)

    async def find_of(self, search: str, key: str) -> KeyedRow | None:
        return await run_in_threadpool(self._find_of, search, key)

    def _find_of(self, search: str, key: str) -> KeyedRow | None:
        with self._lock:
            found: KeyedRow | None = self._db.execute(
                "SELECT status, brand, person, at, quota, used FROM keyed "
                "JOIN api_key ON hash = key WHERE id = ? AND key = ?",
                (search, key),
            ).fetchone()
        return found

    async def insert(self, brand: str) -> str:
        search = secrets.token_hex(13)
        await run_in_threadpool(self._insert, search, brand)
        return search

    def _insert(self, search: str, brand: str) -> None:
        with self._lock:
            self._db.execute(
                "INSERT INTO search VALUES (?, 'done', ?, ?, datetime())",
                (search, brand, PERSON["full_name"]),
            )

    async def find(self, search: str) -> Row | None:
        return await run_in_threadpool(self._find, search)

    def _find(self, search: str) -> Row | None:
        with self._lock:
            found: Row | None = self._db.execute(
                "SELECT status, brand, person, at FROM search WHERE id = ?", (search,)
            ).fetchone()
        return found

    async def close(self) -> None:
        self._db.close()


class PostgresRows:
    """A pool of connections, and statements that it prepares."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    @classmethod
    async def open(cls, dsn: str) -> "PostgresRows":
        pool = await asyncpg.create_pool(dsn, min_size=4, max_size=16)
        await pool.execute(
            "CREATE TABLE IF NOT EXISTS search (id TEXT PRIMARY KEY, status TEXT, brand TEXT, "
            "person TEXT, at TIMESTAMPTZ)"
        )
        await pool.execute(
            "CREATE TABLE IF NOT EXISTS api_key (hash TEXT PRIMARY KEY, quota INT, used INT)"
        )
        await pool.execute(
            "CREATE TABLE IF NOT EXISTS keyed (id TEXT PRIMARY KEY, key TEXT, status TEXT, "
            "brand TEXT, person TEXT, at TIMESTAMPTZ)"
        )
        return cls(pool)

    async def add_keys(self, hashes: list[str]) -> None:
        await self._pool.execute(
            "INSERT INTO api_key SELECT unnest($1::text[]), 1000, 0 ON CONFLICT DO NOTHING",
            hashes,
        )

    async def charge(self, key: str, brand: str) -> tuple[str, int, int] | None:
        search = secrets.token_hex(13)
        found = await self._pool.fetchrow(
            "WITH charged AS (UPDATE api_key SET used = used + 1 WHERE hash = $2 "
            "AND used < quota RETURNING quota, used), stored AS (INSERT INTO keyed "
            "SELECT $1, $2, 'done', $3, $4, now() FROM charged) SELECT * FROM charged",
            *(search, key, brand, PERSON["full_name"]),
        )
        return None if found is None else (search, *found)

    async def find_of(self, search: str, key: str) -> KeyedRow | None:
        found = await self._pool.fetchrow(
            "SELECT status, brand, person, at::text, quota, used FROM keyed "
            "JOIN api_key ON hash = key WHERE id = $1 AND key = $2",
            *(search, key),
        )
        return None if found is None else tuple(found)

    async def insert(self, brand: str) -> str:
        search = secrets.token_hex(13)
        await self._pool.execute(
            "INSERT INTO search VALUES ($1, 'done', $2, $3, now())",
            *(search, brand, PERSON["full_name"]),
        )
        return search

    async def find(self, search: str) -> Row | None:
        found = await self._pool.fetchrow(
            "SELECT status, brand, person, at::text FROM search WHERE id = $1", search
        )
        return None if found is None else tuple(found)

    async def close(self) -> None:
        await self._pool.close()


def record(search: str, status: str, brand: str, person: str, at: str) -> dict[str, Any]:
    return {
        "id": search,
        "status": status,
        "brand": brand,
        "searched_at": at,
        "contacts": [{**PERSON, "full_name": person}] * 3,
        "usage": USAGE,
    }


async def post(request: Request) -> JSONResponse:
    body = await request.json()
    brand = body.get("brand")
    if not isinstance(brand, str) or not 2 <= len(brand) <= 120:
        return JSONResponse({"error": "brand is a text of 2 to 120 characters"}, 400)
    search = await request.app.state.rows.insert(brand)
    return JSONResponse({"id": search, "status": "running", "brand": brand}, 202)


async def get(request: Request) -> JSONResponse:
    search = request.path_params["id"]
    found = await request.app.state.rows.find(search)
    if found is None:
        return JSONResponse({"error": "no such search"}, 404)
    return JSONResponse(record(search, *found))


class Limits:
    """So many calls of a key in a minute."""

    def __init__(self) -> None:
        self._times: dict[str, deque[float]] = defaultdict(deque)

    def left(self, key: str) -> tuple[int, int]:
        """Count a call of *key*; return how many are left, and for how many seconds."""
        times, now = self._times[key], time.monotonic()
        while times and times[0] <= now - 60:
            times.popleft()
        times.append(now)
        return PER_MINUTE - len(times), int(times[0] + 60 - now) + 1


LIMITS = Limits()
UNAUTHORIZED = {"error": "the API key is wrong"}


def caller_of(request: Request) -> tuple[str, dict[str, str]] | None:
    """Return the hash of the key that was sent, and the headers that tell its limit.

    ``None``: no key, or the limit is met; the benchmark does neither.
    """
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme != "Bearer":
        return None
    key = hash_of(secret)
    left, reset = LIMITS.left(key)
    if left < 0:
        return None
    return key, {
        "RateLimit-Limit": str(PER_MINUTE),
        "RateLimit-Remaining": str(left),
        "RateLimit-Reset": str(reset),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "X-Request-Id": secrets.token_hex(13),
    }


def keyed_record(search: str, row: KeyedRow) -> dict[str, Any]:
    *shown, quota, used = row
    usage = {"quota": quota, "used": used, "remaining": quota - used}
    return {**record(search, *shown), "usage": usage}


async def keyed_post(request: Request) -> JSONResponse:
    body = await request.json()
    brand, caller = body.get("brand"), caller_of(request)
    if caller is None or not isinstance(brand, str) or not 2 <= len(brand) <= 120:
        return JSONResponse({"error": "brand is a text of 2 to 120 characters"}, 400)
    key, headers = caller
    charged = await request.app.state.rows.charge(key, brand)
    if charged is None:
        return JSONResponse(UNAUTHORIZED, 401)
    search, quota, used = charged
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    row = ("done", brand, PERSON["full_name"], at, quota, used)
    return JSONResponse(keyed_record(search, row), 200, headers)


async def keyed_get(request: Request) -> JSONResponse:
    caller = caller_of(request)
    if caller is None:
        return JSONResponse(UNAUTHORIZED, 401)
    key, headers = caller
    search = request.path_params["id"]
    found = await request.app.state.rows.find_of(search, key)
    if found is None:
        return JSONResponse({"error": "no such search"}, 404, headers)
    return JSONResponse(keyed_record(search, found), 200, headers)


@contextlib.asynccontextmanager
async def on_sqlite(app: Starlette) -> AsyncIterator[None]:
    app.state.rows = Rows(os.environ["CRUD_FILE"])
    await app.state.rows.add_keys([hash_of(secret_of(n)) for n in range(KEYS)])
    yield
    await app.state.rows.close()


@contextlib.asynccontextmanager
async def on_postgres(app: Starlette) -> AsyncIterator[None]:
    app.state.rows = await PostgresRows.open(os.environ["CRUD_POSTGRES"])
    await app.state.rows.add_keys([hash_of(secret_of(n)) for n in range(KEYS)])
    yield
    await app.state.rows.close()


ROUTES = [
    Route("/contacts", post, methods=["POST"]),
    Route("/searches/{id}", get, methods=["GET"]),
]
crud = Starlette(routes=ROUTES, lifespan=on_sqlite)
crud_postgres = Starlette(routes=ROUTES, lifespan=on_postgres)
KEYED_ROUTES = [
    Route("/contacts", keyed_post, methods=["POST"]),
    Route("/searches/{id}", keyed_get, methods=["GET"]),
]
keyed = Starlette(routes=KEYED_ROUTES, lifespan=on_sqlite)
keyed_postgres = Starlette(routes=KEYED_ROUTES, lifespan=on_postgres)
