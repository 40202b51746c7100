"""The API key that a request carries, or what to send instead.

A 401 says what is wrong with the form of what was sent, which is found without a look-up.
For a key in the right form it never says whether there is such a key (contract H9, H10).
"""

from collections.abc import Sequence

import msgspec

from cs.api.errors import ApiError
from cs.domain.api_key import PREFIX, well_formed

_SEND = "send `Authorization: Bearer <API_KEY>`"


class Caller(msgspec.Struct, frozen=True):
    """Which key a call came with, and the hash of the secret that was sent.

    The secret opened that key when its last event came.  Whether it does now is known to
    whoever reads the key.
    """

    key_id: str
    secret_hash: str


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
