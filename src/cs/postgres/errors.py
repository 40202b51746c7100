"""What can be wrong with a PostgreSQL database, for whoever tells of it."""


class DatabaseUnavailable(Exception):
    """PostgreSQL cannot be reached or cannot answer now; a statement may have been done."""


class WrongSchema(Exception):
    """The database is not of this version; the message says what to do."""
