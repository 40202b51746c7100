"""What the thin path is measured against: services as one would write them by hand.

``crud`` stores one durable row in SQLite for a POST and reads one for a GET, without keys,
limits, reuse or a record of what happened.

``keyed`` is what of that could be shown to callers, on PostgreSQL: a call has a key, found by
its hash in the statement that reads the row; 120 calls a minute of each, counted in memory;
headers that show so; a POST is charged to its key in the transaction that stores it, and
answered with the whole record, as a search that is answered from reuse.

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

#: How many keys there are, and calls of each a minute.
KEYS, PER_MINUTE = 4_000, 120
#: A record with three people is as long as a finished search of the bundled world with them.
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
BAD_BRAND = {"error": "brand is a text of 2 to 120 characters"}
NO_SEARCH = {"error": "no such search"}
UNAUTHORIZED = {"error": "the API key is wrong"}


def secret_of(number: int) -> str:
    """Return the API key of that number."""
    return f"crud_live_{number:028}"


def hash_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def record(search: str, row: tuple[Any, ...], quota: int = 1000, used: int = 1) -> Any:
    """Return the search whose *row* is status, brand, person and time."""
    status, brand, person, at = row
    return {
        "id": search,
        "status": status,
        "brand": brand,
        "searched_at": at,
        "contacts": [{**PERSON, "full_name": person}] * 3,
        "usage": {"quota": quota, "used": used, "remaining": quota - used},
    }


async def brand_in(request: Request) -> str | None:
    brand = (await request.json()).get("brand")
    return brand if isinstance(brand, str) and 2 <= len(brand) <= 120 else None


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

    async def run(self, statement: str, *values: str) -> Any:
        """Return the first row that *statement* gives."""
        return await run_in_threadpool(self._run, statement, values)

    def _run(self, statement: str, values: tuple[str, ...]) -> Any:
        with self._lock:
            return self._db.execute(statement, values).fetchone()

    def close(self) -> None:
        self._db.close()


async def post(request: Request) -> JSONResponse:
    brand, search = await brand_in(request), secrets.token_hex(13)
    if brand is None:
        return JSONResponse(BAD_BRAND, 400)
    await request.app.state.rows.run(
        "INSERT INTO search VALUES (?, 'done', ?, ?, datetime())",
        *(search, brand, PERSON["full_name"]),
    )
    return JSONResponse({"id": search, "status": "running", "brand": brand}, 202)


async def get(request: Request) -> JSONResponse:
    search = request.path_params["id"]
    found = await request.app.state.rows.run(
        "SELECT status, brand, person, at FROM search WHERE id = ?", search
    )
    return (
        JSONResponse(NO_SEARCH, 404) if found is None else JSONResponse(record(search, found))
    )


#: Times of the calls of each key within the last minute.
CALLS: dict[str, deque[float]] = defaultdict(deque)


def caller_of(request: Request) -> tuple[str, dict[str, str]] | None:
    """Count a call; return the hash of its key, and the headers that show its limit.

    ``None``: no key, or the limit is met; the benchmark does neither.
    """
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    key = hash_of(secret)
    times, now = CALLS[key], time.monotonic()
    while times and times[0] <= now - 60:
        times.popleft()
    times.append(now)
    if scheme != "Bearer" or len(times) > PER_MINUTE:
        return None
    return key, {
        "RateLimit-Limit": str(PER_MINUTE),
        "RateLimit-Remaining": str(PER_MINUTE - len(times)),
        "RateLimit-Reset": str(int(times[0] + 60 - now) + 1),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "X-Request-Id": secrets.token_hex(13),
    }


async def keyed_post(request: Request) -> JSONResponse:
    brand, caller = await brand_in(request), caller_of(request)
    if brand is None or caller is None:
        return JSONResponse(BAD_BRAND, 400)
    key, headers = caller
    search = secrets.token_hex(13)
    found = await request.app.state.pool.fetchrow(
        "WITH charged AS (UPDATE api_key SET used = used + 1 WHERE hash = $2 "
        "AND used < quota RETURNING quota, used), stored AS (INSERT INTO keyed "
        "SELECT $1, $2, 'done', $3, $4, now() FROM charged) SELECT * FROM charged",
        *(search, key, brand, PERSON["full_name"]),
    )
    if found is None:
        return JSONResponse(UNAUTHORIZED, 401)
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    row = ("done", brand, PERSON["full_name"], at)
    return JSONResponse(record(search, row, *found), 200, headers)


async def keyed_get(request: Request) -> JSONResponse:
    caller = caller_of(request)
    if caller is None:
        return JSONResponse(UNAUTHORIZED, 401)
    key, headers = caller
    search = request.path_params["id"]
    found = await request.app.state.pool.fetchrow(
        "SELECT status, brand, person, at::text, quota, used FROM keyed "
        "JOIN api_key ON hash = key WHERE id = $1 AND key = $2",
        *(search, key),
    )
    if found is None:
        return JSONResponse(NO_SEARCH, 404, headers)
    *row, quota, used = found
    return JSONResponse(record(search, tuple(row), quota, used), 200, headers)


@contextlib.asynccontextmanager
async def on_sqlite(app: Starlette) -> AsyncIterator[None]:
    app.state.rows = Rows(os.environ["CRUD_FILE"])
    yield
    app.state.rows.close()


@contextlib.asynccontextmanager
async def on_postgres(app: Starlette) -> AsyncIterator[None]:
    async with asyncpg.create_pool(
        os.environ["CRUD_POSTGRES"], min_size=4, max_size=16
    ) as pool:
        await pool.execute("CREATE TABLE api_key (hash TEXT PRIMARY KEY, quota INT, used INT)")
        await pool.execute(
            "CREATE TABLE keyed (id TEXT PRIMARY KEY, key TEXT, status TEXT, brand TEXT, "
            "person TEXT, at TIMESTAMPTZ)"
        )
        await pool.execute(
            "INSERT INTO api_key SELECT unnest($1::text[]), 1000, 0",
            [hash_of(secret_of(n)) for n in range(KEYS)],
        )
        app.state.pool = pool
        yield


def app(post: Any, get: Any, lifespan: Any) -> Starlette:
    routes = [
        Route("/contacts", post, methods=["POST"]),
        Route("/searches/{id}", get, methods=["GET"]),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


crud = app(post, get, on_sqlite)
keyed = app(keyed_post, keyed_get, on_postgres)
