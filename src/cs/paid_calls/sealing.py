"""What is stored of a call: keyed hashes of what was asked, and the answer sealed."""

import hmac
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from cs.paid_calls.errors import CallsUnavailable
from cs.paid_calls.port import PaidCall


class CallSeal:
    """What a 32-byte key does (AES-256-GCM; the call is bound to its answer).

    Raises:
        ValueError: *key* is not 32 bytes.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != 32:
            raise ValueError(f"the key of the call register has {len(key)} bytes, not 32")
        self._box = AESGCM(hmac.digest(key, b"answer", "sha256"))
        self._request = hmac.digest(key, b"request", "sha256")
        self._idempotency = hmac.digest(key, b"idempotency", "sha256")

    @property
    def proof(self) -> bytes:
        """Tells this key from others, and nothing about it."""
        return hmac.digest(self._request, b"proof", "sha256")

    def request(self, call: PaidCall) -> str:
        """Return the keyed hash that *call* is known by."""
        return hmac.digest(self._request, _bytes(call), "sha256").hex()

    def idempotency_key(self, call: PaidCall) -> str:
        return hmac.digest(self._idempotency, _bytes(call), "sha256").hex()[:32]

    def seal(self, call: PaidCall, answer: bytes) -> bytes:
        nonce = os.urandom(12)
        return nonce + self._box.encrypt(nonce, answer, _bytes(call))

    def unseal(self, call: PaidCall, box: bytes) -> bytes:
        """Return the answer in *box*.

        Raises:
            CallsUnavailable: It is not that of *call*, or damaged.
        """
        try:
            return self._box.decrypt(box[:12], box[12:], _bytes(call))
        except InvalidTag as error:
            raise CallsUnavailable("the remembered answer is damaged") from error


def _bytes(call: PaidCall) -> bytes:
    return f"{call.lookup}\0{call.provider}\0".encode() + call.request
