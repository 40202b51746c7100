"""The master key in a file of its own."""

import os
from pathlib import Path

from cs.keystore.errors import OpenToOthers, WrongMasterKey
from cs.runtime.private_files import exposed


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
