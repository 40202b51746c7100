"""What can go wrong with a PostgreSQL database, for code that acts on it or reports it."""

from collections.abc import Sequence


class DatabaseUnavailable(Exception):
    """PostgreSQL cannot be reached or cannot answer now; a statement may have been done."""


class WrongSchema(Exception):
    """The database is not of this version; the message says what to do."""


class Fenced(Exception):
    """Another process leads by now: nothing was written."""


class InsecureAddress(ValueError):
    """A password and personal data would go to a server that proves nothing."""

    def __init__(self, hosts: Sequence[str]) -> None:
        super().__init__(
            f"{', '.join(hosts)} is on another machine and need not prove who it is: add "
            "sslmode=verify-full and sslrootcert=FILE to the address, or set "
            "insecure_postgres = true to send password and data to any server there"
        )
