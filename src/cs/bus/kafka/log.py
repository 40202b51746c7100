"""What the Kafka client has to say, as lines of our own log, and not too many of them."""

import logging
import time
from collections.abc import Callable

from structlog import get_logger

from cs.runtime.log_throttle import LogThrottle

log = get_logger()

#: The same trouble with the same broker is logged once in this time.
EVERY_S = 10.0


class KafkaLog(logging.Handler):
    """Logs warnings and worse.

    A client that cannot reach a broker says so twice a second.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__(logging.WARNING)
        self._throttle = LogThrottle(EVERY_S, monotonic=monotonic)

    def emit(self, record: logging.LogRecord) -> None:
        # The first arguments say whom it is about: a broker's number, its host and port.
        args = record.args[:2] if isinstance(record.args, tuple) else ()
        about = " ".join(str(each) for each in args if not isinstance(each, BaseException))
        more = self._throttle.allow(f"{record.msg} {about}")
        if more is None:
            return
        error = record.exc_info[1] if record.exc_info else None
        log.log(
            record.levelno,
            "kafka_client",
            said=record.getMessage(),
            exc_info=error,
            **more,
        )


def route_client_log() -> None:
    """Send what aiokafka says to our log and nowhere else."""
    client_log = logging.getLogger("aiokafka")
    if not any(isinstance(handler, KafkaLog) for handler in client_log.handlers):
        client_log.handlers, client_log.propagate = [KafkaLog()], False
