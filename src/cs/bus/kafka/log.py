"""What the Kafka client has to say, as lines of our own log, and not too many of them."""

import logging
import time
from collections.abc import Callable

from structlog import get_logger

log = get_logger()

#: The same trouble with the same broker is logged once in this time.
EVERY_S = 10.0
#: Troubles remembered; beyond it, all are forgotten.
MOST = 1_000


class KafkaLog(logging.Handler):
    """Logs warnings and worse.

    A client that cannot reach a broker says so twice a second.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__(logging.WARNING)
        self._monotonic = monotonic
        self._logged: dict[tuple[str, str], tuple[float, int]] = {}  # when; left out since

    def emit(self, record: logging.LogRecord) -> None:
        # The first arguments say whom it is about: a broker's number, its host and port.
        args = record.args[:2] if isinstance(record.args, tuple) else ()
        about = " ".join(str(each) for each in args if not isinstance(each, BaseException))
        trouble = (str(record.msg), about)
        now = self._monotonic()
        at, left_out = self._logged.get(trouble, (-EVERY_S, 0))
        if now - at < EVERY_S:
            self._logged[trouble] = (at, left_out + 1)
            return
        if len(self._logged) >= MOST:
            self._logged.clear()
        self._logged[trouble] = (now, 0)
        error = record.exc_info[1] if record.exc_info else None
        log.log(
            record.levelno,
            "kafka_client",
            said=record.getMessage(),
            left_out=left_out,
            exc_info=error,
        )


def route_client_log() -> None:
    """Send what aiokafka says to our log and nowhere else."""
    client_log = logging.getLogger("aiokafka")
    if not any(isinstance(handler, KafkaLog) for handler in client_log.handlers):
        client_log.handlers, client_log.propagate = [KafkaLog()], False
