"""What the thin path is measured against: services as one would write them by hand.

``bare`` answers a constant and nothing else.  ``crud`` stores one durable row a POST and
reads one a GET, without keys, limits, reuse or a record of what happened; ``crud_postgres``
does so in PostgreSQL.

    .venv/bin/python -m uvicorn --app-dir bench --loop uvloop --http httptools crud_service:crud
"""

import contextlib
import os
import secrets
import sqlite3
import threading
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

USAGE = {"quota": 1000, "used": 1, "remaining": 999}
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


async def constant(_: Request) -> JSONResponse:
    return JSONResponse(USAGE)


bare = Starlette(routes=[Route("/usage", constant)])


#: Status, brand, person and time of a search.
Row = tuple[str, str, str, str]


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
        return cls(pool)

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


@contextlib.asynccontextmanager
async def on_sqlite(app: Starlette) -> AsyncIterator[None]:
    app.state.rows = Rows(os.environ["CRUD_FILE"])
    yield
    await app.state.rows.close()


@contextlib.asynccontextmanager
async def on_postgres(app: Starlette) -> AsyncIterator[None]:
    app.state.rows = await PostgresRows.open(os.environ["CRUD_POSTGRES"])
    yield
    await app.state.rows.close()


ROUTES = [
    Route("/contacts", post, methods=["POST"]),
    Route("/searches/{id}", get, methods=["GET"]),
]
crud = Starlette(routes=ROUTES, lifespan=on_sqlite)
crud_postgres = Starlette(routes=ROUTES, lifespan=on_postgres)
