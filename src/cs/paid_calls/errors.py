"""Errors of calls that cost money."""


class NotAsked(Exception):
    """The provider was not asked now, and there is no answer."""


class CallsUnavailable(NotAsked):
    """The register cannot be used now; without it a call might be made twice.  May pass."""


class WrongCallsKey(CallsUnavailable):
    """The remembered calls were sealed with another key: a call might be made twice."""


class Unanswered(NotAsked):
    """The call was made, or may have been, and its answer is lost.  It will not pass."""


class NotCharged(Exception):
    """Raised by a plug-in's call: the provider does not charge for what it answered."""
