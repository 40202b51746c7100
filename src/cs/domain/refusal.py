"""The domain's "no"."""

from datetime import timedelta


class Refusal(Exception):
    """A command that breaks a rule.  Nothing was stored.

    Attributes:
        code: Stable.  For searches it is an error code of contract text 7.
        message: For people: what happened and what to do.
        retry_after: How long to wait before asking again; ``None`` if waiting will not help.
        limit: The limit that was hit as (limit, remaining), for the rate-limit headers.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retry_after: timedelta | None = None,
        limit: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retry_after = retry_after
        self.limit = limit
