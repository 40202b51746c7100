"""Where Kafka is, who we are to it, and how long it may take."""

import re
import ssl
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from cs.runtime.local_hosts import is_local

SaslMechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
Seconds = Annotated[float, Meta(gt=0, le=3600)]

#: What brokers allow unless their operator says otherwise (group.min.session.timeout.ms).
LEAST_SESSION_S = 6.0


#: How often brokers are asked which topics and partitions there are.
METADATA_S = 10


class BadKafkaSettings(ValueError):
    """Settings that do not go together; the message says which and what to do."""


class CannotApply(Exception):
    """The topics or rights cannot be as asked for; the message says why and what to do."""


class KafkaSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Printing it shows no password.

    Raises:
        BadKafkaSettings: The values do not go together.
    """

    bootstrap_servers: tuple[str, ...]  # host:port of some brokers; they name the others
    prefix: str = ""  # before every topic and group, "staging." for example
    client_id: str = "cs"

    # TLS and SASL.
    tls: bool = False
    insecure: bool = False  # without TLS to other machines too
    ca_file: Path | None = None  # None: the system's authorities
    certificate_file: Path | None = None  # ours, if brokers ask for one
    key_file: Path | None = None
    sasl_mechanism: SaslMechanism | None = None
    username: str | None = None
    password: str | None = None

    # Time limits.
    publish_timeout_s: Seconds = 10.0
    request_timeout_s: Seconds = 10.0
    session_timeout_s: Seconds = 10.0  # a member silent for longer loses its partitions
    rebalance_timeout_s: Seconds = 20.0
    stuck_after_s: Seconds = 30.0  # records wait, none arrives: rebuild, then give up

    in_flight: Annotated[int, Meta(ge=1, le=10_000)] = 64  # of one partition

    def __post_init__(self) -> None:
        for fault in _faults(self):
            raise BadKafkaSettings(fault)

    def __rich_repr__(self) -> Any:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            yield name, "***" if name == "password" and value else value

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"KafkaSettings({fields})"

    def on_broker(self, name: str) -> str:
        """Return the topic or group *name* as it is called on the broker."""
        return self.prefix + name


def _faults(s: KafkaSettings) -> Iterator[str]:
    """Yield what is wrong, the first thing to mend first."""
    if not s.bootstrap_servers or not all(map(_host_and_port, s.bootstrap_servers)):
        yield "bootstrap_servers: host:port of one broker or more, like kafka-1:9092"
    if not re.fullmatch(r"[A-Za-z0-9._-]{0,100}", s.prefix):
        yield "prefix: at most 100 letters, digits, dots, underscores and dashes"
    if not s.tls and any((s.ca_file, s.certificate_file, s.key_file)):
        yield "ca_file, certificate_file and key_file need tls = true"
    if (s.certificate_file is None) != (s.key_file is None):
        yield "certificate_file and key_file go together: give both or neither"
    yield from _sasl_faults(s)
    if s.session_timeout_s < LEAST_SESSION_S:
        yield f"session_timeout_s: at least {LEAST_SESSION_S:.0f}, which brokers insist on"
    if s.rebalance_timeout_s < s.session_timeout_s:
        yield "rebalance_timeout_s: at least session_timeout_s"
    if (elsewhere := in_clear(s.bootstrap_servers, tls=s.tls)) and not s.insecure:
        yield (
            f"{', '.join(elsewhere)} is on another machine, and messages carry people:"
            " set kafka_tls = true, or insecure_kafka = true to send them in clear"
        )


def _sasl_faults(s: KafkaSettings) -> Iterator[str]:
    if s.sasl_mechanism is None and (s.username is not None or s.password is not None):
        yield "username and password need sasl_mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"
    if s.sasl_mechanism is not None and not (s.username and s.password):
        yield f"sasl_mechanism {s.sasl_mechanism} needs username and password"
    if s.sasl_mechanism == "PLAIN" and not s.tls:
        yield "PLAIN sends the password in clear: set tls = true, or use SCRAM-SHA-512"


def in_clear(servers: Sequence[str], *, tls: bool) -> tuple[str, ...]:
    """Return the brokers among *servers* on other machines that are reached without TLS."""
    return () if tls else tuple(each for each in servers if not is_local(host_of(each)))


def host_of(server: str) -> str:
    """Return the host in ``host:port``.

    >>> host_of("kafka-1:9092"), host_of("[::1]:9092")
    ('kafka-1', '::1')
    """
    return server.rpartition(":")[0].strip("[]")


def _host_and_port(server: str) -> bool:
    host, _, port = server.rpartition(":")
    good = re.fullmatch(r"[^\s,/]+", host) is not None
    return good and re.fullmatch(r"[0-9]{1,5}", port) is not None and 0 < int(port) <= 65535


def client_options(settings: KafkaSettings) -> dict[str, Any]:
    """Return what every client of aiokafka takes to connect.

    Raises:
        BadKafkaSettings: A file of certificates or keys cannot be used.
    """
    protocol = "SASL_" if settings.sasl_mechanism else ""
    options: dict[str, Any] = {
        "bootstrap_servers": list(settings.bootstrap_servers),
        "client_id": settings.client_id,
        "request_timeout_ms": int(settings.request_timeout_s * 1000),
        # Else topics that were made again, and new partitions, are found after five minutes.
        "metadata_max_age_ms": METADATA_S * 1000,
        "security_protocol": protocol + ("SSL" if settings.tls else "PLAINTEXT"),
    }
    if settings.tls:
        options["ssl_context"] = _tls(settings)
    if settings.sasl_mechanism:
        options["sasl_mechanism"] = settings.sasl_mechanism
        options["sasl_plain_username"] = settings.username
        options["sasl_plain_password"] = settings.password
    return options


def _tls(settings: KafkaSettings) -> ssl.SSLContext:
    place = "ca_file"
    try:
        context = ssl.create_default_context(cafile=settings.ca_file)
        if settings.certificate_file is not None:
            place = "certificate_file and key_file"
            context.load_cert_chain(settings.certificate_file, settings.key_file)
    except OSError as error:  # an ssl.SSLError is one
        why = error.strerror or "not in PEM form"
        raise BadKafkaSettings(f"{place}: cannot be used: {why}") from error
    return context
