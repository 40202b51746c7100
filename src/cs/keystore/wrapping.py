"""Wrapping data keys and secrets with a master key, and keyed hashes made with a secret."""

import hashlib
import hmac
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from cs.keystore.port import WrongMasterKey

#: The secret that fingerprints are made with.
FINGERPRINTS = "fingerprints"
#: The secret that remembered answers of paid calls are sealed with, in a data folder.
PAID_CALLS = "paid-calls"


def fingerprint(secret: bytes, kind: str, value: str) -> str:
    """Return the keyed hash (HMAC-SHA-256) of *value*, in hex."""
    return hmac.new(secret, f"{kind}\0{value}".encode(), hashlib.sha256).hexdigest()


def secret_name(name: str) -> str:
    """Return what the secret *name* is wrapped under: no data key is called like this."""
    return f"secret:{name}"


class Wrapping:
    """What a 32-byte master key does (AES-256-GCM; the key's name is bound to it)."""

    def __init__(self, master: bytes) -> None:
        self._master = master
        self._wrap = AESGCM(master)

    @property
    def proof(self) -> bytes:
        """Tells this master key from others, and nothing about it."""
        return hmac.digest(self._derived(b"index"), b"proof", "sha256")

    def earlier_secrets(self) -> dict[str, bytes]:
        """Return the secrets of a store made when they were derived from the master key.

        They are stored, wrapped, when such a store is first opened: what they hashed and
        sealed is found and opened still, also under another master key.
        """
        return {
            FINGERPRINTS: self._derived(b"index"),
            PAID_CALLS: self._derived(b"calls"),
        }

    def _derived(self, purpose: bytes) -> bytes:
        return hmac.digest(self._master, purpose, "sha256")

    def wrapped(self, name: str, key: bytes) -> bytes:
        nonce = os.urandom(12)
        return nonce + self._wrap.encrypt(nonce, key, name.encode())

    def unwrapped(self, name: str, wrapped: bytes) -> bytes:
        """Return the key called *name*.

        Raises:
            WrongMasterKey: It was wrapped by another master key, or is damaged.
        """
        try:
            return self._wrap.decrypt(wrapped[:12], wrapped[12:], name.encode())
        except InvalidTag as error:
            raise WrongMasterKey(
                f"the data key {name!r} was not wrapped by this master key"
            ) from error
