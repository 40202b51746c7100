"""What can go wrong with the key store."""


class KeysUnavailable(Exception):
    """The key store cannot be read or written now; what was written is not known."""


class WrongMasterKey(Exception):
    """The key store was made with another master key."""


class OpenToOthers(Exception):
    """Others may read the master key; the message says how to mend it."""
