"""Whether Kafka lets us in, and if not, which setting to look at.

The client keeps its reasons to its log: whatever is wrong, it says that it cannot bootstrap.
So this knocks with a connection of its own.
"""

import asyncio
import os
import ssl
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

from cs.bus.kafka.settings import KafkaSettings, connection, host_of
from cs.bus.port import BusUnavailable
from cs.runtime.local_hosts import is_local

#: How long the other side may take to part.
CLOSE_S = 0.5
#: What `connection` gives that a single connection does not take.
_OF_CLIENTS = ("bootstrap_servers", "metadata_max_age_ms")


class BusRefused(BusUnavailable):
    """Kafka is there and turns us away: no waiting mends it; the message names the setting."""


async def reach(settings: KafkaSettings, *, within_s: float | None = None) -> None:
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
    how = {name: v for name, v in connection(settings).items() if name not in _OF_CLIENTS}
    servers = settings.bootstrap_servers
    knocks = [asyncio.create_task(_knock(settings, at, how, limit)) for at in servers]
    try:
        for each in asyncio.as_completed(knocks):
            if await each is None:
                return
    finally:
        for knock in knocks:
            knock.cancel()
        await asyncio.gather(*knocks, return_exceptions=True)
    faults = [fault for knock in knocks if (fault := knock.result()) is not None]
    raise next((fault for fault in faults if isinstance(fault, BusRefused)), faults[0])


async def _knock(
    settings: KafkaSettings, server: str, how: dict[str, Any], within_s: float
) -> BusUnavailable | None:
    """Return why the broker at *server* does not serve us; ``None`` if it does."""
    port = server.rpartition(":")[2]
    knocking = AIOKafkaConnection(host_of(server), int(port), **how)
    try:
        async with asyncio.timeout(within_s):
            await knocking.connect()
            # Who has not said who they are is heard as far as this.
            heard = await knocking.send(MetadataRequest([]))
    except (KafkaError, OSError, TimeoutError) as error:
        fault = _fault(settings, f"Kafka at {server}", error)
        fault.__cause__ = error
        return fault
    finally:
        await _closed(knocking)
    return _sent_elsewhere(settings, server, [host for _, host, *_ in heard.brokers])


def _sent_elsewhere(
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


async def _closed(knocking: AIOKafkaConnection) -> None:
    """Close *knocking* and return when it is gone, or soon after."""
    gone = knocking.close()
    if knocking._protocol is not None:  # noqa: SLF001  else it never was
        await asyncio.wait([gone], timeout=CLOSE_S)


def _fault(settings: KafkaSettings, who: str, error: BaseException) -> BusUnavailable:
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
            return _fault(settings, who, cause)
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
        case ssl.SSLCertVerificationError(verify_message=str(said)):
            return said.rstrip(".")
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
