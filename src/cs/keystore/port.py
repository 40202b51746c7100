"""Where the data keys of personal values live: beside the event log, never in it.

One data key per person of a lookup and one per ready-made body.  Destroying a key
erases what it sealed, wherever copies of the bytes are.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol


class KeyStore(Protocol):
    """Data keys (32 bytes, AES-256) by name."""

    async def ensure(self, names: Iterable[str]) -> Mapping[str, bytes]:
        """Return a key for each of *names*, making those that are missing.

        They are durable on return.  A destroyed name gets no new key and is left out.
        """

    async def find(self, names: Iterable[str]) -> Mapping[str, bytes]:
        """Return the keys of those of *names* that have one."""

    async def index(self, entries: Iterable[tuple[str, str]]) -> None:
        """Remember (fingerprint, name) pairs, so that a person's keys can be found.

        Fingerprints are made with `fingerprint`; they are durable on return.
        """

    def fingerprint(self, kind: str, value: str) -> str:
        """Return the keyed hash of a person's e-mail, profile address or name + company."""

    async def destroy(self, names: Iterable[str]) -> None:
        """Destroy keys for good."""
