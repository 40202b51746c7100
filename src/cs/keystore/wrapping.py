"""Master keys: their files, and wrapping data keys and secrets with them.

Keyed hashes are made with a secret.
"""

import hashlib
import hmac
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from cs.keystore.port import OpenToOthers, WrongMasterKey
from cs.runtime.private_files import exposed

#: The secret that fingerprints are made with.
FINGERPRINTS = "fingerprints"
#: The secret that remembered answers of paid calls are sealed with, in a data folder.
PAID_CALLS = "paid-calls"
#: The secret that the operator's own directory of people is sealed with, in a data folder.
PEOPLE_DIRECTORY = "people-directory"


def fingerprint(secret: bytes, kind: str, value: str) -> str:
    """Return the keyed hash (HMAC-SHA-256) of *value*, in hex."""
    return hmac.digest(secret, f"{kind}\0{value}".encode(), "sha256").hex()


def secret_name(name: str) -> str:
    """Return what the secret *name* is wrapped under: no data key is called like this."""
    return f"secret:{name}"


def version_of(proof: bytes) -> str:
    """Return what a master key is called, given its `Wrapping.proof`: 8 hex digits."""
    return hashlib.sha256(proof).hexdigest()[:8]


#: Before a named wrap: this, and the version of the master key.  An unnamed one has neither.
_NAMED = b"\x01"
_NONCE = 12
#: Bytes of an unnamed wrap: nonce, key, tag.
UNNAMED_SIZE = _NONCE + 32 + 16


class Wrapping:
    """What a 32-byte master key does (AES-256-GCM).

    A wrap begins with the version of its master key; bound are that and the name of what is
    wrapped.  Older stores have unnamed wraps too: nonce and ciphertext, the name bound.
    """

    def __init__(self, master: bytes) -> None:
        self._wrap = AESGCM(master)
        self.proof = hmac.digest(hmac.digest(master, b"index", "sha256"), b"proof", "sha256")
        self.version = version_of(self.proof)
        #: What every named wrap of it begins with.
        self.mark = _NAMED + bytes.fromhex(self.version)

    def wrapped(self, name: str, key: bytes) -> bytes:
        nonce = os.urandom(_NONCE)
        return self.mark + nonce + self._wrap.encrypt(nonce, key, self.mark + name.encode())

    def unwrapped(self, name: str, wrapped: bytes) -> bytes:
        """Return the key called *name*.

        Raises:
            WrongMasterKey: It was wrapped by another master key, or is damaged.
        """
        bound, box = name.encode(), wrapped
        if len(wrapped) != UNNAMED_SIZE:
            bound, box = self.mark + bound, wrapped[len(self.mark) :]
        try:
            return self._wrap.decrypt(box[:_NONCE], box[_NONCE:], bound)
        except InvalidTag as error:
            raise WrongMasterKey(
                f"the data key {name!r} was not wrapped by this master key, or is damaged"
            ) from error


class MasterKeys:
    """The master keys that this process holds: one, or two while it is changed.

    Args:
        load: Gives them, 32 bytes each; asked again when another one is needed, since it
            may have been put there since.
    """

    def __init__(self, load: Callable[[], Sequence[bytes]]) -> None:
        self._load = load
        self._held: dict[str, Wrapping] = {}
        self._look()
        self.first = next(iter(self._held.values()))

    @classmethod
    def of(cls, master: "bytes | MasterKeys") -> "MasterKeys":
        return master if isinstance(master, MasterKeys) else cls(lambda: [master])

    def get(self, version: str) -> Wrapping | None:
        if version not in self._held:
            self._look()
        return self._held.get(version)

    def in_use(self, where: str, proof: bytes) -> Wrapping:
        """Return the one that *where* says is in use.

        Raises:
            WrongMasterKey: This process does not hold it.
        """
        if found := self.get(version_of(proof)):
            return found
        raise WrongMasterKey(
            f"{where} was made with another master key, {version_of(proof)}; this process "
            f"holds {self._names()}: give it the one that belongs to it"
        )

    def check_older(self, where: str, proofs: Iterable[bytes]) -> None:
        """Check that this process holds those that keys in *where* are still wrapped with.

        Raises:
            WrongMasterKey: It does not.
        """
        for proof in proofs:
            if self.get(version_of(proof)) is None:
                raise WrongMasterKey(
                    f"{where} has keys that are wrapped with master key {version_of(proof)} "
                    f"still, and this process holds {self._names()}: a change of the master "
                    "key was not finished; give it both, and run `cs master-key rotate` again"
                )

    def unwrapped(self, name: str, wrapped: bytes) -> bytes:
        """Return the key called *name*, by whichever master key wrapped it.

        Raises:
            WrongMasterKey: This process does not hold that one, or the key is damaged.
        """
        if len(wrapped) == UNNAMED_SIZE:
            for wrapping in tuple(self._held.values())[:-1]:
                with suppress(WrongMasterKey):
                    return wrapping.unwrapped(name, wrapped)
            return tuple(self._held.values())[-1].unwrapped(name, wrapped)
        version = wrapped[1:5].hex()
        if found := self.get(version):
            return found.unwrapped(name, wrapped)
        raise WrongMasterKey(
            f"the data key {name!r} is wrapped with master key {version}, and this process "
            f'holds {self._names()}: give it that one too (docs/operations.md, "A new master '
            'key")'
        )

    def _look(self) -> None:
        for master in self._load():
            wrapping = Wrapping(master)
            self._held.setdefault(wrapping.version, wrapping)

    def _names(self) -> str:
        return " and ".join(self._held)


def existing_master_key(path: Path) -> bytes:
    """As `master_key`, and it is there.

    Raises:
        OSError: It is not, or cannot be read.
    """
    if exposure := exposed(path):
        raise OpenToOthers(f"the master key {exposure}")
    key = path.read_bytes()
    if len(key) != 32:
        raise WrongMasterKey(f"{path} holds {len(key)} bytes, not a 32-byte key")
    return key


def master_key(path: Path) -> bytes:
    """Return the 32-byte master key in the file at *path*, making it (0600) if missing.

    Raises:
        WrongMasterKey: The file does not hold a key.
        OpenToOthers: Others may read it.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return existing_master_key(path)
    key = os.urandom(32)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(key)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink()  # half a key would be taken for a damaged one
        raise
    return key
