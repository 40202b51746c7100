"""What the thin path is measured against: services as one would write them by hand.

``crud`` stores one durable row in SQLite for a POST and reads one for a GET, without keys,
limits, reuse or a record of what happened.

``keyed`` is what of its GET could be shown to callers, on PostgreSQL: a call has a key, found
by its hash in the statement that reads the row; 120 calls a minute of each, counted in memory;
headers that show so.  Each key has one search.

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
from starlette.exceptions import HTTPException
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


def secret_of(number: int) -> str:
    """Return the API key of that number."""
    return f"crud_live_{number:028}"


def search_of(number: int) -> str:
    """Return the search of the key of that number."""
    return f"{number:026}"


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
    brand, search = (await request.json()).get("brand"), secrets.token_hex(13)
    if not isinstance(brand, str) or not 2 <= len(brand) <= 120:
        raise HTTPException(400, "brand is a text of 2 to 120 characters")
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
    if found is None:
        raise HTTPException(404)
    return JSONResponse(record(search, found))


#: Times of the calls of each key within the last minute.
CALLS: dict[str, deque[float]] = defaultdict(deque)


async def keyed_get(request: Request) -> JSONResponse:
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    key, search = hash_of(secret), request.path_params["id"]
    times, now = CALLS[key], time.monotonic()
    while times and times[0] <= now - 60:
        times.popleft()
    times.append(now)
    if scheme != "Bearer" or len(times) > PER_MINUTE:  # the benchmark does neither
        raise HTTPException(401)
    found = await request.app.state.pool.fetchrow(
        "SELECT status, brand, person, at::text, quota, used FROM keyed "
        "JOIN api_key ON hash = key WHERE id = $1 AND key = $2",
        *(search, key),
    )
    if found is None:
        raise HTTPException(404)
    *row, quota, used = found
    headers = {
        "RateLimit-Limit": str(PER_MINUTE),
        "RateLimit-Remaining": str(PER_MINUTE - len(times)),
        "RateLimit-Reset": str(int(times[0] + 60 - now) + 1),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "X-Request-Id": secrets.token_hex(13),
    }
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
        await pool.execute(
            "INSERT INTO keyed SELECT unnest($1::text[]), unnest($2::text[]), 'done', 'Acme', "
            "$3, now()",
            [search_of(n) for n in range(KEYS)],
            [hash_of(secret_of(n)) for n in range(KEYS)],
            PERSON["full_name"],
        )
        app.state.pool = pool
        yield


crud = Starlette(
    routes=[
        Route("/contacts", post, methods=["POST"]),
        Route("/searches/{id}", get, methods=["GET"]),
    ],
    lifespan=on_sqlite,
)
keyed = Starlette(
    routes=[Route("/searches/{id}", keyed_get, methods=["GET"])], lifespan=on_postgres
)
