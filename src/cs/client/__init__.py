"""The Python client of this API: ``Client``, and ``AsyncClient`` for asyncio.

    with Client("https://contacts.example/v1", key) as client:
        search = client.contacts.search("Acme", domain="acme.example")

It needs httpx and msgspec, and nothing of the service (docs/client.md).
"""

from cs.client.calls import Query
from cs.client.clients import AsyncClient, Client
from cs.client.errors import (
    ApiError,
    AtCapacity,
    BadRequest,
    ClientError,
    InFlight,
    MethodNotAllowed,
    NotFound,
    NotThisApi,
    Paused,
    QuotaExceeded,
    RateLimited,
    ServerError,
    StillRunning,
    TooLate,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    Unreachable,
    Unsendable,
)
from cs.client.limits import Limits, Window
from cs.client.many import Outcome
from cs.client.records import Contact, Done, Failed, Other, Running, Search, Usage
from cs.client.retries import Patience

__all__ = [
    "ApiError",
    "AsyncClient",
    "AtCapacity",
    "BadRequest",
    "Client",
    "ClientError",
    "Contact",
    "Done",
    "Failed",
    "InFlight",
    "Limits",
    "MethodNotAllowed",
    "NotFound",
    "NotThisApi",
    "Other",
    "Outcome",
    "Patience",
    "Paused",
    "Query",
    "QuotaExceeded",
    "RateLimited",
    "Running",
    "Search",
    "ServerError",
    "StillRunning",
    "TooLate",
    "TooManyRequests",
    "Unauthorized",
    "Unavailable",
    "Unreachable",
    "Unsendable",
    "Usage",
    "Window",
]
