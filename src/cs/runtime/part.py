"""A part of work that is shared out by name: one name falls to one part, in every process."""

from zlib import crc32

import msgspec


class Part(msgspec.Struct, frozen=True):
    """Part *number*, from 1, of *of* parts; what is not shared out is the only one.

    >>> WHOLE.has("brand-0a1b"), [Part(n, 2).has("brand-0a1b") for n in (1, 2)]
    (True, [True, False])
    >>> str(Part(1, 2)), Part(1, 2).lease("relay"), WHOLE.lease("relay")
    ('1/2', 'relay-1/2', 'relay')
    """

    number: int = 1
    of: int = 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def has(self, name: str) -> bool:
        """Return whether *name* falls to this part, by its CRC-32."""
        return self.of == 1 or crc32(name.encode()) % self.of == self.number - 1

    def lease(self, role: str) -> str:
        """Return the name of the lease under which *role* does this part."""
        return role if self.of == 1 else f"{role}-{self}"


#: All of it, as where nothing is shared out.
WHOLE = Part()


def all_parts(of: int) -> list[Part]:
    return [Part(number, of) for number in range(1, of + 1)]
