"""The Search record, spliced from what is stored ready to send."""

import msgspec
from msgspec.structs import replace

from cs.domain.admission import RETRY_AFTER
from cs.projections.reading import Found
from cs.projections.usage import UsageRow

POLL_S = int(RETRY_AFTER.total_seconds())


def usage_body(row: UsageRow) -> bytes:
    """Return the Usage object (SPEC.md 2.3)."""
    usage = {"quota": row.quota, "used": row.used, "remaining": row.quota - row.used}
    return msgspec.json.encode(usage)


def search_body(found: Found) -> bytes:
    """Return the Search object (SPEC.md 2.1): six fields while it runs, all when finished."""
    row = found.row
    head: dict[str, object] = {"id": found.search, "status": row.status, "brand": row.brand}
    usage = b'"usage":' + usage_body(found.usage) + b"}"
    if found.body is None:
        head |= {"poll_url": poll_url(found.search), "retry_after": POLL_S}
        return msgspec.json.encode(head)[:-1] + b"," + usage
    if row.reason is not None:
        head["reason"] = row.reason
    head |= {"cached": row.cached, "charged": row.charged}
    return msgspec.json.encode(head)[:-1] + b"," + found.body[1:-1] + b"," + usage


def poll_url(search: str) -> str:
    """Return the path of *search*, literally as SPEC.md has it (CONTRACT.md S14)."""
    return f"/v1/searches/{search}"


def as_running(found: Found) -> Found:
    """Return *found* as it was when it was admitted."""
    row = replace(found.row, status="running", reason=None)
    return replace(found, row=row, body=None)
