"""The Search and Usage objects as callers get them, spliced from what is stored ready to send.

The one place that shapes them: the API sends them, and the history shows what it sent.
"""

from collections.abc import Mapping

import msgspec
from cryptography.exceptions import InvalidTag

from cs.domain.admission import RETRY_AFTER
from cs.domain.key import Key
from cs.eventlog.mapper import held_keys
from cs.eventlog.port import LogUnavailable
from cs.eventlog.sealing import key_reference_of, open_held
from cs.keystore.port import KeyStore, KeysUnavailable
from cs.projections.searches import ResultRow, SearchRow
from cs.projections.usage import UsageRow

POLL_S = int(RETRY_AFTER.total_seconds())


class SearchParts(msgspec.Struct, frozen=True):
    """One search with what its record is made of."""

    search: str
    row: SearchRow
    usage: UsageRow | Key
    body: bytes | None  # the fields it shares with its lookup's other searches; None: running


def usage_body(key: UsageRow | Key) -> bytes:
    """Return the Usage object (contract text 2.3)."""
    usage = {"quota": key.quota, "used": key.used, "remaining": key.quota - key.used}
    return msgspec.json.encode(usage)


def search_body(found: SearchParts) -> bytes:
    """Return the Search object (contract text 2.1): six fields while it runs, then all."""
    row = found.row
    if found.body is None:
        return running_body(found.search, row.brand, found.usage)
    head: dict[str, object] = {"id": found.search, "status": row.status, "brand": row.brand}
    if row.reason is not None:
        head["reason"] = row.reason
    head |= {"cached": row.cached, "charged": row.charged}
    return _spliced(head, found.body[1:-1], found.usage)


def running_body(search: str, brand: str, key: UsageRow | Key) -> bytes:
    """Return the Search object of a search that runs."""
    head = {"id": search, "status": "running", "brand": brand}
    fields = {"poll_url": poll_url(search), "retry_after": POLL_S}
    return _spliced(head, msgspec.json.encode(fields)[1:-1], key)


def poll_url(search: str) -> str:
    """Return the path of *search*, beginning with the version (contract S14)."""
    return f"/v1/searches/{search}"


def _spliced(head: Mapping[str, object], fields: bytes, key: UsageRow | Key) -> bytes:
    usage = b'"usage":' + usage_body(key) + b"}"
    return msgspec.json.encode(head)[:-1] + b"," + fields + b"," + usage


def spliced(result: ResultRow, contacts: bytes) -> bytes:
    """Return the fields that all searches of a lookup share, as one JSON object."""
    return result.head[:-1] + b',"contacts":' + contacts + b"}"


async def open_contacts(keys: KeyStore, result: ResultRow) -> bytes | None:
    """Return the contacts in *result*; ``None`` if their key was destroyed or is lost.

    Raises:
        LogUnavailable: The keys are away, or the row is damaged.
    """
    if not result.sealed:
        return None
    try:
        held = await held_keys(keys, [key_reference_of(result.key, result.sealed)])
        return open_held(result.key, result.sealed, held, lambda value: keys.lost.note([value]))
    except KeysUnavailable as error:
        raise LogUnavailable(str(error)) from error
    except InvalidTag as error:
        raise LogUnavailable(
            f"what the views have under {result.key} is damaged; rebuild them"
        ) from error
