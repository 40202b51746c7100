"""Ids of requests: as random as all ids, with one question to the system for many of them."""

import os

#: Taken from the system at once.
_IDS = 256
#: 26 characters of 5 bits (130 bits), as in `cs.runtime.ids`.
_CHARACTERS = 26
#: Crockford base32, lower case: each character for eight of the 256 values of a byte.
_CROCKFORD = b"0123456789abcdefghjkmnpqrstvwxyz" * 8


class RequestIds:
    """Asking the system for each id by itself would be a tenth of a short call's time."""

    def __init__(self) -> None:
        self._random = ""
        self._at = 0

    def new(self) -> str:
        """Return ``req_`` and 130 random bits as Crockford base32, lower case."""
        if self._at >= len(self._random):
            self._random = os.urandom(_IDS * _CHARACTERS).translate(_CROCKFORD).decode()
            self._at = 0
        begins, self._at = self._at, self._at + _CHARACTERS
        return "req_" + self._random[begins : self._at]
