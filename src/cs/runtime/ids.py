"""Opaque ids: random bits as Crockford base32, lower case; no time or count inside."""

import os

#: Taken from the system at once by `RandomIds`.
_CHARACTERS = 6_656
#: Crockford base32, lower case: each character for eight of the 256 values of a byte.
_CROCKFORD = b"0123456789abcdefghjkmnpqrstvwxyz" * 8


def random_id(prefix: str, characters: int = 26) -> str:
    """Return *prefix* and 5 random bits a character (26: 130 bits, contract S11)."""
    return prefix + _random_characters(characters)


class RandomIds:
    """As `random_id`, with one question to the system for many: each takes it 1 to 10 µs.

    For one thread; not to be used in a process that is forked from the one that made it.
    """

    def __init__(self) -> None:
        self._random = ""
        self._at = 0

    def new(self, prefix: str, characters: int = 26) -> str:
        """Return what `random_id` does."""
        if self._at + characters > len(self._random):
            self._random = _random_characters(_CHARACTERS)
            self._at = 0
        begins, self._at = self._at, self._at + characters
        return prefix + self._random[begins : self._at]


def _random_characters(count: int) -> str:
    return os.urandom(count).translate(_CROCKFORD).decode()
