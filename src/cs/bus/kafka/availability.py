"""Whether Kafka lets us in, and if not, which setting to look at or how long it has been away.

The client keeps its reasons to its log: whatever is wrong, it says that it cannot bootstrap.
So this checks with a connection of its own.
"""

import asyncio
import os
import ssl
import time
from collections.abc import Sequence
from typing import Any

from aiokafka.conn import AIOKafkaConnection  # type: ignore[import-untyped,unused-ignore]
from aiokafka.errors import (  # type: ignore[import-untyped,unused-ignore]
    IllegalSaslStateError,
    KafkaConnectionError,
    KafkaError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)
from aiokafka.protocol.metadata import MetadataRequest  # type: ignore[import-untyped,unused-ignore]
from structlog import get_logger

from cs.bus.kafka.settings import KafkaSettings, client_options, host_of
from cs.bus.port import BusRefused, BusUnavailable
from cs.runtime.local_hosts import is_local
from cs.runtime.log_throttle import LogThrottle

log = get_logger()

#: How long the other side may take to part.
CLOSE_S = 0.5
#: What `client_options` gives that a single connection does not take.
_OF_CLIENTS = ("bootstrap_servers", "metadata_max_age_ms")
#: Between two tries.
RETRY_S = 1.0
#: The same reason is logged once in this time.
LOG_EVERY_S = 10.0


async def check_available(settings: KafkaSettings, *, within_s: float | None = None) -> None:
    """Return once one of the brokers that *settings* name has let us in and answered.

    Args:
        settings: Of the bus.
        within_s: How long that may take; ``request_timeout_s`` if ``None``.

    Raises:
        BusRefused: None did, and one turned us away.
        BusUnavailable: None answered in time.
        BadKafkaSettings: A file of certificates or keys cannot be used.
    """
    limit = min(within_s or settings.request_timeout_s, settings.request_timeout_s)
    how = {name: v for name, v in client_options(settings).items() if name not in _OF_CLIENTS}
    servers = settings.bootstrap_servers
    checks = [asyncio.create_task(_check_broker(settings, at, how, limit)) for at in servers]
    try:
        for each in asyncio.as_completed(checks):
            if await each is None:
                return
    finally:
        for check in checks:
            check.cancel()
        await asyncio.gather(*checks, return_exceptions=True)
    faults = [fault for check in checks if (fault := check.result()) is not None]
    raise next((fault for fault in faults if isinstance(fault, BusRefused)), faults[0])


async def _check_broker(
    settings: KafkaSettings, server: str, how: dict[str, Any], within_s: float
) -> BusUnavailable | None:
    """Return why the broker at *server* does not serve us; ``None`` if it does."""
    port = server.rpartition(":")[2]
    broker = AIOKafkaConnection(host_of(server), int(port), **how)
    try:
        async with asyncio.timeout(within_s):
            await broker.connect()
            # A broker may accept a connection and refuse the first request: so one is sent.
            metadata = await broker.send(MetadataRequest([]))
    except (KafkaError, OSError, TimeoutError) as error:
        fault = _explain(settings, f"Kafka at {server}", error)
        fault.__cause__ = error
        return fault
    finally:
        await _close(broker)
    return _check_advertised(settings, server, [host for _, host, *_ in metadata.brokers])


def _check_advertised(
    settings: KafkaSettings, server: str, hosts: Sequence[str]
) -> BusRefused | None:
    """Return a fault if *server*, reached in clear, names *hosts* that may not be."""
    elsewhere = [host for host in hosts if not is_local(host)]
    if settings.tls or settings.insecure or not elsewhere:
        return None
    return BusRefused(
        f"Kafka at {server} sends us on to {', '.join(elsewhere)}, on another machine, and "
        "messages carry personal data: set kafka_tls = true, or insecure_kafka = true to "
        "send them in clear"
    )


async def _close(broker: AIOKafkaConnection) -> None:
    """Close *broker* and return when it is gone, or soon after."""
    gone = broker.close()
    if broker._protocol is not None:  # noqa: SLF001  else it never was
        await asyncio.wait([gone], timeout=CLOSE_S)


def _explain(settings: KafkaSettings, who: str, error: BaseException) -> BusUnavailable:
    mechanism = settings.sasl_mechanism
    match error:
        case ssl.SSLCertVerificationError():
            return BusRefused(
                f"{who} shows a certificate that is not trusted, {_plain(error)}: "
                "set kafka_ca_file to the authority that signed it, and kafka to names on it"
            )
        case ssl.SSLError(reason=str(reason)) if "ALERT" in reason:
            return BusRefused(
                f"{who} breaks TLS off, {_words(reason)}: look at kafka_certificate_file and "
                "kafka_key_file, which have to be of an authority that it trusts"
            )
        case SaslAuthenticationFailed():
            return BusRefused(
                f"{who} refuses the user {settings.username!r} by {mechanism}: look at "
                "kafka_username, kafka_password or kafka_password_file, and kafka_sasl"
            )
        case UnsupportedSaslMechanismError() | IllegalSaslStateError():
            return BusRefused(
                f"{who} takes no {mechanism} on this port: look at kafka_sasl and at the port "
                "in kafka"
            )
        case KafkaConnectionError(__cause__=BaseException() as cause):
            return _explain(settings, who, cause)
        case TimeoutError():
            why = "nothing came in time"
        case KafkaError() | EOFError() | ConnectionResetError() | ssl.SSLError():
            ours = f"kafka_tls {str(settings.tls).lower()}, kafka_sasl {mechanism or 'none'}"
            return BusUnavailable(
                f"{who} breaks the connection off: it starts or ends, or that port wants "
                f"something else than {ours}"
            )
        case _:
            why = _plain(error)
    return BusUnavailable(f"{who} does not answer, {why}: start it, or correct kafka")


def _plain(error: BaseException) -> str:
    """Return what *error* says, without what is about Python."""
    match error:
        case ssl.SSLCertVerificationError(verify_message=str(message)):
            return message.rstrip(".")
        case OSError(errno=int(number)) if number > 0:  # asyncio repeats the address
            return os.strerror(number)
        case _:
            return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _words(reason: str) -> str:
    """Return what OpenSSL calls the alert, as words.

    >>> _words("TLSV13_ALERT_CERTIFICATE_REQUIRED")
    'certificate required'
    """
    return reason.partition("ALERT_")[2].replace("_", " ").lower()


class Outage:
    """Remembers whether Kafka is away, and logs when that begins, lasts and ends.

    Args:
        about: Fields of the log lines: the subscription that waits.

    Attributes:
        why: What is waited for; ``None`` when nothing is.
    """

    def __init__(self, **about: str) -> None:
        self._about = about
        self._since = 0.0
        self._throttle = LogThrottle(LOG_EVERY_S)
        self.why: str | None = None

    def report(self, why: BaseException) -> None:
        """Remember and log that Kafka is away, and *why*."""
        now, reason = time.monotonic(), str(why)
        if self.why is None:
            self._since = now
            self._throttle.forget()
        self.why = reason
        if self._throttle.allow(reason) is not None:
            log.warning("kafka_away", why=reason, for_s=round(now - self._since), **self._about)

    def end(self) -> None:
        """Log that Kafka is back, if it was away."""
        if self.why is not None:
            log.info("kafka_back", after_s=round(time.monotonic() - self._since), **self._about)
        self.why = None
