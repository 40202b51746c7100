"""A server that this machine cannot run."""


class Missing(Exception):
    """What is not there and what to do about it, in one sentence each."""
