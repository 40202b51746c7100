"""Ids of requests: as random as all ids, with one question to the system for many of them."""

import base64
import os

#: Taken from the system at once.
_IDS = 256
#: 160 bits are 32 characters; 26 of them (130 bits) are used, as in `cs.runtime.ids`.
_BYTES, _CHARACTERS = 20, 26
_CROCKFORD = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"0123456789abcdefghjkmnpqrstvwxyz"
)


class RequestIds:
    """Asking the system for each id by itself would be a tenth of a short call's time."""

    def __init__(self) -> None:
        self._random = b""
        self._at = 0

    def new(self) -> str:
        """Return ``req_`` and 130 random bits as Crockford base32, lower case."""
        if self._at >= len(self._random):
            self._random, self._at = os.urandom(_IDS * _BYTES), 0
        chosen = self._random[self._at : self._at + _BYTES]
        self._at += _BYTES
        text = base64.b32encode(chosen).translate(_CROCKFORD)
        return "req_" + text[:_CHARACTERS].decode()
