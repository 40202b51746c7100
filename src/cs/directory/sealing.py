"""What is stored of a person: keyed hashes of who and where they are, and the rest sealed."""

import hmac
import os
from collections.abc import Mapping, Sequence

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from cs.directory.errors import DirectoryUnavailable, WrongDirectoryKey
from cs.directory.person import DirectoryPerson, DirectoryRow, merged
from cs.directory.port import Changes, IndexOf

_NONCE = 12
#: Bytes of a keyed hash: of a hundred million texts two are alike once in 10^22 times.
_HASH = 16

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(DirectoryPerson).decode


class DirectorySeal:
    """What a 32-byte key does (AES-256-GCM; who it is, is bound to what is known of them).

    Raises:
        ValueError: *key* is not 32 bytes.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != 32:
            raise ValueError(f"the key of the directory has {len(key)} bytes, not 32")
        own = hmac.digest(key, b"people directory", "sha256")  # the key has other uses, too
        self._box = AESGCM(hmac.digest(own, b"person", "sha256"))
        self._who = hmac.digest(own, b"who", "sha256")
        self._where = hmac.digest(own, b"where", "sha256")
        #: Tells this key from others, and nothing about it.
        self.proof = hmac.digest(own, b"proof", "sha256")

    def who(self, known_as: str) -> bytes:
        """Return the keyed hash of a person's identity."""
        return hmac.digest(self._who, known_as.encode(errors="replace"), "sha256")[:_HASH]

    def where(self, place: str) -> bytes:
        """Return the keyed hash of a place that people are looked for at."""
        return hmac.digest(self._where, place.encode(errors="replace"), "sha256")[:_HASH]

    def seal(self, who: bytes, person: DirectoryPerson) -> bytes:
        """Return *person*, who has the keyed hash *who*, sealed."""
        nonce = os.urandom(_NONCE)
        return nonce + self._box.encrypt(nonce, _encode(person), who)

    def unseal(self, who: bytes, box: bytes) -> DirectoryPerson:
        """Return the person in *box*.

        Raises:
            DirectoryUnavailable: It is not that of *who*, or damaged.
        """
        try:
            return _decode(self._box.decrypt(box[:_NONCE], box[_NONCE:], who))
        except (InvalidTag, msgspec.DecodeError) as error:
            raise DirectoryUnavailable("a sealed person of it is damaged") from error


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
        stored: The sealed people they may be about, by identity.
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
