"""Lines of the log that anybody can cause: some a second, the others counted.

Whoever floods the service without a key would flood its log, too, and fill the disk.
"""

import asyncio
from contextvars import Context

from structlog import get_logger

log = get_logger()

#: Lines a second.
PER_S = 10


class LogRateLimit:
    """Says which calls have a line, and logs how many had none.

    Args:
        left_out: Name of that line, which has the number of ``calls``.
        most: Lines a second.
    """

    def __init__(self, left_out: str, most: int = PER_S) -> None:
        self._event = left_out
        self._most = most
        self._began = 0.0
        self._calls = 0
        self._left_out = 0

    def allow(self) -> bool:
        """Count a call; return whether it has a line."""
        loop = asyncio.get_running_loop()
        if loop.time() >= self._began + 1.0:
            self._began, self._calls = loop.time(), 0
        self._calls += 1
        if self._calls <= self._most:
            return True
        if not self._left_out:
            # In a context of its own: the line is of no one call.
            loop.call_at(self._began + 1.0, self._log_left_out, context=Context())
        self._left_out += 1
        return False

    def _log_left_out(self) -> None:
        log.info(self._event, calls=self._left_out)
        self._left_out = 0
