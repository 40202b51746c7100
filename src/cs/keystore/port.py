"""Where the data keys of personal values live: in a store of their own, never in the event log.

One data key per person of a lookup and one per ready-made body.  Destroying a key
erases what it sealed, wherever copies of the bytes are.

An index of keyed hashes (fingerprints) finds the keys of a person.  A fingerprint that
is suppressed is refused from then on: a name indexed under it never has a key, so that
nothing about that person can be sealed, by whichever process and however late.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from cs.keystore.lost import LostValues

if TYPE_CHECKING:
    from cs.keystore.recovery import RecoveryRecord


class KeysUnavailable(Exception):
    """The key store cannot be read or written now; what was written is not known."""


class WrongMasterKey(Exception):
    """The key store was made with another master key."""


class OpenToOthers(Exception):
    """Others may read the master key; the message says how to mend it."""


class KeyStore(Protocol):
    """Data keys (32 bytes, AES-256) by name.

    Every method may raise `KeysUnavailable`.
    """

    @property
    def lost(self) -> LostValues:
        """Where keys that are found lost are noted when sealed values are opened."""

    @property
    def recovery(self) -> "RecoveryRecord":
        """What the store remembers of the log and of erasures; raises `KeysUnavailable`."""

    async def ensure(self, names: Iterable[str]) -> Mapping[str, bytes]:
        """Return a key for each of *names*, making those that are missing.

        They are durable on return: the store itself is asked, since one in memory may
        be gone from a store that came back older.  A destroyed name gets no new key and is
        left out.
        """

    async def ensure_indexed(
        self, names: Iterable[str], entries: Iterable[tuple[str, str]]
    ) -> Mapping[str, bytes]:
        """Index *entries*, then do as `ensure` with *names*, at once if it can be.

        Entries are (fingerprint, name) pairs, so that a person's keys can be found.
        Fingerprints are made with `fingerprint`; they are durable on return.  The key of a
        name that is indexed under a suppressed fingerprint is destroyed.
        """

    async def find(self, names: Iterable[str]) -> Mapping[str, bytes]:
        """Return the keys of those of *names* that have one."""

    async def look(self, names: Iterable[str]) -> Mapping[str, bytes | None]:
        """Return what the store itself has of *names*, whatever is cached.

        The key; ``None`` for one that was destroyed.  A name that the store knows nothing
        of is left out: its key was never made, or is lost.
        """

    async def secret(self, name: str) -> bytes:
        """Return the secret called *name*: 32 random bytes, made at its first use.

        Durable on return, and the same for every process on this store and after every
        change of the master key.  For keyed hashes and MACs; it is never destroyed, so
        nothing that has to be erased may be sealed with it.
        """

    def fingerprint(self, kind: str, value: str) -> str:
        """Return the keyed hash of a person's e-mail, profile address or name + company.

        Made with the secret ``fingerprints``, which is read when the store is opened.
        """

    async def matching(self, fingerprints: Iterable[str]) -> frozenset[str]:
        """Return the names indexed under any of *fingerprints*, destroyed ones included."""

    async def suppress(self, fingerprints: Iterable[str]) -> None:
        """Refuse *fingerprints* from now on; durable on return.

        What `matching` returns afterwards is complete: a name indexed later is destroyed
        as it is indexed.
        """

    async def unsuppress(self, fingerprints: Iterable[str]) -> None:
        """Refuse *fingerprints* no longer; durable on return.  Destroyed keys stay so."""

    async def suppressed(self, fingerprints: Iterable[str]) -> frozenset[str]:
        """Return those of *fingerprints* that are suppressed, by any process, until now."""

    async def destroy(self, names: Iterable[str]) -> None:
        """Destroy keys for good; no byte of them is left in the files on return.

        Raises:
            DeletedDataRemains: They are found no more, but bytes are left.
        """

    def forget(self) -> None:
        """Drop every key cached in memory: another process has destroyed some."""
