"""Sealing people of the directory, and keyed hashes of their identities and places."""

import hmac
import os

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from cs.directory.errors import DirectoryUnavailable
from cs.directory.person import DirectoryPerson

_NONCE = 12
#: Bytes of a keyed hash: of a hundred million texts two are alike once in 10^22 times.
_HASH = 16

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(DirectoryPerson).decode


class DirectorySeal:
    """The uses of a 32-byte key (AES-256-GCM; a sealed person is bound to their identity).

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
        """Return the keyed hash of a place where people are looked for."""
        return hmac.digest(self._where, place.encode(errors="replace"), "sha256")[:_HASH]

    def seal(self, who: bytes, person: DirectoryPerson) -> bytes:
        """Return *person*, who has the keyed hash *who*, sealed."""
        nonce = os.urandom(_NONCE)
        return nonce + self._box.encrypt(nonce, _encode(person), who)

    def unseal(self, who: bytes, box: bytes) -> DirectoryPerson:
        """Return the person in *box*.

        Raises:
            DirectoryUnavailable: It is damaged, or of another person than *who*.
        """
        try:
            return _decode(self._box.decrypt(box[:_NONCE], box[_NONCE:], who))
        except (InvalidTag, msgspec.DecodeError) as error:
            raise DirectoryUnavailable("a sealed person of it is damaged") from error
