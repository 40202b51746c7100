"""Wrapping data keys with a master key, and the keyed hashes made with it."""

import hashlib
import hmac
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from cs.keystore.port import WrongMasterKey


class Wrapping:
    """What a 32-byte master key does (AES-256-GCM; the key's name is bound to it)."""

    def __init__(self, master: bytes) -> None:
        self._wrap = AESGCM(master)
        self._secret = hmac.digest(master, b"index", "sha256")

    @property
    def proof(self) -> bytes:
        """Tells this master key from others, and nothing about it."""
        return hmac.digest(self._secret, b"proof", "sha256")

    def fingerprint(self, kind: str, value: str) -> str:
        return hmac.new(self._secret, f"{kind}\0{value}".encode(), hashlib.sha256).hexdigest()

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
