"""What can be wrong with settings."""


class BadSettings(Exception):
    """Settings that cannot be used; the message names the place and what is allowed."""
