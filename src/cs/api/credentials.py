"""The API key that a request carries, or what to send instead.

A 401 says what is wrong with the form of what was sent, which is found without a look-up.
For a key in the right form it never says whether there is such a key (contract H9, H10).
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from cs.api.errors import ApiError
from cs.domain.api_key import PREFIX, hash_key, well_formed

_BEARER = b"Bearer "
_SEND = "send `Authorization: Bearer <API_KEY>`"


class KnownKeys(Protocol):
    """Which keys a process knows (`cs.api.key_ring.KeyRing`)."""

    def known(self, secret_hash: str) -> str | None: ...


class Caller(msgspec.Struct, frozen=True):
    """Which key a call came with, and the hash of the secret that was sent.

    The secret opened that key when its last event came.  Whether it does now is known to
    whoever reads the key.
    """

    key_id: str
    secret_hash: str


def known_caller(headers: Sequence[tuple[bytes, bytes]], keys: KnownKeys) -> Caller | None:
    """Return the caller of a call with *headers*, if its key is one of *keys*.

    What is known to open a key is well formed.
    """
    sent = [value for name, value in headers if name == b"authorization"]
    if len(sent) != 1 or not sent[0].startswith(_BEARER):
        return None
    secret_hash = hash_key(sent[0][len(_BEARER) :].decode("latin-1"))
    key_id = keys.known(secret_hash)
    return None if key_id is None else Caller(key_id, secret_hash)


def presented(values: Sequence[str]) -> str:
    """Return the key of the one ``Authorization: Bearer`` header; *values* are all there are.

    Raises:
        ApiError: ``unauthorized``: no key, or nothing that can be one of ours.
    """
    if not values:
        raise unauthorized(f"no API key was sent; {_SEND}", sent=False)
    if len(values) > 1:
        raise unauthorized(f"more than one Authorization header was sent; {_SEND} once")
    scheme, _, token = values[0].strip().partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer":
        raise unauthorized(_without_bearer(scheme))
    if not token:
        raise unauthorized(f"no API key stands behind `Bearer`; {_SEND}")
    if " " in token or "\t" in token:
        raise unauthorized(f"more than an API key stands behind `Bearer`; {_SEND}")
    if not well_formed(token):
        raise unauthorized(
            "this is no API key of this service; mistyped or cut off? "
            f"a key is `{PREFIX}` and 38 letters and digits"
        )
    return token


def _without_bearer(scheme: str) -> str:
    """Say what is missing before a key, or that the scheme is another one (never which)."""
    if scheme.startswith(PREFIX):
        return f"the API key was sent without `Bearer` before it; {_SEND}"
    return f"the Authorization header is not of the scheme Bearer; {_SEND}"


def wrong_key() -> ApiError:
    """Return the 401 of a key that is in the right form and opens nothing."""
    return unauthorized("the API key is wrong or revoked; ask the operator for another")


def unauthorized(message: str, *, sent: bool = True) -> ApiError:
    """Return a 401; *sent* says whether credentials came with the request (RFC 6750 3.1)."""
    challenge = 'Bearer error="invalid_token"' if sent else "Bearer"
    return ApiError("unauthorized", message, headers={"WWW-Authenticate": challenge})
