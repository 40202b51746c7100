"""What rows of a file change in a directory, wherever it is kept.  Pure but for nonces."""

from collections.abc import Mapping, Sequence

import msgspec

from cs.directory.errors import WrongDirectoryKey
from cs.directory.person import DirectoryRow, merged
from cs.directory.port import Changes, IndexOf
from cs.directory.sealing import DirectorySeal

WRONG_KEY = WrongDirectoryKey(
    "who is in it was sealed with another key: bring that key back, or empty it with "
    "`cs directory clear` and import the files again"
)


class SealedPerson(msgspec.Struct, frozen=True):
    """One person as stored.

    Attributes:
        who: Keyed hash of who it is.
        as_of: The day of which they are known, as `datetime.date.toordinal` has it.
        places: Keyed hashes of where they are looked for.
        prints: Fingerprints, the first of who it is.
        box: All of it, sealed.
    """

    who: bytes
    as_of: int
    places: tuple[bytes, ...]
    prints: tuple[bytes, ...]
    box: bytes


def upsert(
    seal: DirectorySeal,
    rows: Sequence[DirectoryRow],
    stored: Mapping[bytes, bytes],
    index_of: IndexOf,
) -> tuple[Sequence[SealedPerson], Changes]:
    """Return who is to be stored instead, and what *rows* come to.

    Args:
        seal: Of the directory.
        rows: One after the other.
        stored: The sealed people whom they may tell of, by who they are.
        index_of: As `cs.directory.port.PeopleDirectory.put`.
    """
    people = {who: seal.unseal(who, box) for who, box in stored.items()}
    changed: set[bytes] = set()
    changes = Changes()
    for row in rows:
        who = seal.who(row.person.known_as)
        before = people.get(who)
        after = row.person if before is None else merged(before, row)
        changes.new += before is None
        changes.unchanged += after == before
        changes.updated += before is not None and after != before
        if after != before:
            people[who] = after
            changed.add(who)
    sealed = []
    for who in changed:
        entries = index_of(people[who])
        sealed.append(
            SealedPerson(
                who,
                people[who].as_of.toordinal(),
                tuple(sorted(map(seal.where, entries.places))),
                tuple(map(bytes.fromhex, entries.prints)),
                seal.seal(who, people[who]),
            )
        )
    return sealed, changes


def print_bytes(prints: Sequence[str] | frozenset[str]) -> list[bytes]:
    """Return fingerprints as they are stored."""
    return [bytes.fromhex(each) for each in prints]
