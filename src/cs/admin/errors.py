"""What can go wrong on the admin port."""


class BadClockOffset(Exception):
    """The file does not hold an offset; the message says what it may hold."""
