"""The settings of a service over several processes: databases, Kafka and who proves itself.

In the live world a connection that leaves this machine without proof of who answers is
refused unless the operator says otherwise by ``insecure_postgres`` or ``insecure_kafka``; then
the log mentions it at the start, and `/readyz` as long as the role runs.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from structlog import get_logger

from cs.assembly.databases import checked_address, read_key, required
from cs.assembly.process import insecure_console
from cs.bus.kafka.settings import BadKafkaSettings, KafkaSettings, client_options
from cs.bus.kafka.settings import in_clear as kafka_in_clear
from cs.domain.service import World
from cs.postgres.pool import unverified_hosts
from cs.postgres.schema import Store
from cs.runtime.data_folder import MASTER_KEY
from cs.settings import BadSettings, Settings
from cs.settings.secret_files import read_secret_line

log = get_logger()

#: Settings that hold the address of a database, with what that holds.
DATABASES: Mapping[str, Store] = {
    "postgres": "service",
    "keys_postgres": "keys",
    "stages_postgres": "stages",
}

#: The fix for a connection that others may read or answer.
_MEND = {
    **dict.fromkeys(DATABASES, "sslmode=verify-full makes it, instead of insecure_postgres"),
    "kafka": "kafka_tls makes it, instead of insecure_kafka",
}
#: Settings of the connection to Kafka, which mean nothing without `kafka`.
_OF_KAFKA = (
    "kafka_prefix",
    "kafka_tls",
    "kafka_ca_file",
    "kafka_certificate_file",
    "kafka_key_file",
    "kafka_sasl",
    "kafka_username",
    "kafka_password",
    "kafka_password_file",
)


def check_shared(chosen: Settings) -> None:
    """Check that the settings of databases, keys and Kafka go together.

    Raises:
        BadSettings: They do not; it names the one to fix first.
    """
    for name in ("postgres", "keys_postgres"):
        if chosen.postgres or chosen.keys_postgres:
            required(getattr(chosen, name), name)
    _check_apart(chosen)
    for name in _databases(chosen):
        checked_address(chosen, name, insecure=chosen.insecure_postgres)
    if chosen.postgres or (chosen.master_key_file and roles_of(chosen) == ["serve"]):
        read_key(chosen.master_key_file, "master_key_file")
    if chosen.stages_key_file:
        read_key(chosen.stages_key_file, "stages_key_file")
    _check_kafka(chosen)


def roles_of(chosen: Settings) -> list[str]:
    """Return the roles that a process with the settings *chosen* can have.

    >>> roles_of(Settings()), roles_of(Settings(stages_postgres="…", kafka=("kafka-1:9092",)))
    (['serve'], ['stage'])
    """
    holding = chosen.postgres is not None
    found = ["api", "project"] if holding else []
    if chosen.kafka:
        found += ["relay", "process-manager"] if holding else []
        found += ["stage"] if chosen.stages_postgres else []
    return found or ["serve"]


def shared_advice(chosen: Settings) -> list[str]:
    """Return advice for the operator of such a service."""
    found = []
    servers = {name: _server(dsn)[0] for name, dsn in _databases(chosen).items()}
    both = ("postgres", "keys_postgres")
    if servers.keys() >= {*both} and servers[both[0]] == servers[both[1]]:
        found.append(
            "keys_postgres is on the server of postgres: one copy of that server"
            " opens everybody; give the keys a server of their own"
        )
    if chosen.master_key_file and chosen.stages_postgres and not chosen.postgres:
        found.append("master_key_file: no role here needs it; a stage must not have it")
    if chosen.master_key_file and roles_of(chosen) == ["serve"]:
        beside = chosen.data_dir / MASTER_KEY
        if beside.exists() and beside.absolute() != chosen.master_key_file.absolute():
            found.append(f"{beside} is not used: master_key_file names another; move it away")
    if chosen.stages_postgres and not chosen.postgres and not chosen.kafka:
        found.append("kafka is not set: a stage cannot run")
    if chosen.postgres and not chosen.kafka:
        found.append("kafka is not set: a relay or process manager cannot run")
    if chosen.kafka and not _databases(chosen):
        found.append("kafka is set, but no database: only `cs serve` can run, without Kafka")
    if insecure_console(chosen, "live"):
        found.append(
            "insecure_console: tokens and pages of the console go over the network in clear;"
            " a proxy that ends TLS in front, in console_proxies, keeps them from others"
        )
    for name, hosts in insecure_connections(chosen, "live").items():
        found.append(f"{name}: {', '.join(hosts)} need not prove who it is: {_MEND[name]}")
    return found


def _check_apart(chosen: Settings) -> None:
    """Check that no database holds two of events, keys and the memory of stages."""
    seen: dict[tuple[str, str], str] = {}
    for name, dsn in _databases(chosen).items():
        other = seen.setdefault(_server(dsn), name)
        if other != name:
            raise BadSettings(f"{name}: a database of its own, not that of {other}")


def _check_kafka(chosen: Settings) -> None:
    if not chosen.kafka:
        for name in _OF_KAFKA:
            if getattr(chosen, name):
                raise BadSettings(f"{name}: needs kafka; set CS_KAFKA=host:port of brokers")
        return
    try:
        client_options(kafka_settings(chosen))
    except BadKafkaSettings as error:
        raise BadSettings(f"kafka: {error}") from error


def _databases(chosen: Settings) -> Mapping[str, str]:
    every = {name: getattr(chosen, name) for name in DATABASES}
    return {name: dsn for name, dsn in every.items() if dsn is not None}


def _server(dsn: str) -> tuple[str, str]:
    """Return host with port, and database, of *dsn*.

    >>> _server("postgresql://cs:secret@DB.internal/cs?sslmode=require")
    ('db.internal:5432', 'cs')
    """
    parts = urlsplit(dsn)
    host = parts.netloc.rpartition("@")[2].lower()
    named = ":" in host.rpartition("]")[2]
    return (host if named else f"{host}:5432", parts.path.strip("/"))


def insecure_connections(settings: Settings, world: World) -> Mapping[str, Sequence[str]]:
    """Return hosts by the setting that names them; none in a sandbox, where nothing is real.

    Raises:
        BadSettings: An address is wrong.
    """
    if world == "sandbox":
        return {}
    every = {name: _hosts(settings, name) for name in DATABASES}
    every["kafka"] = kafka_in_clear(settings.kafka, tls=settings.kafka_tls)
    return {name: hosts for name, hosts in every.items() if hosts}


def insecure_role(settings: Settings, world: World) -> Mapping[str, Sequence[str]]:
    """Return `insecure_connections` of a role that starts, and log them."""
    found = insecure_connections(settings, world)
    for setting, hosts in found.items():
        log.warning("insecure_connection", setting=setting, hosts=list(hosts))
    return found


def _hosts(settings: Settings, name: str) -> Sequence[str]:
    dsn: str | None = getattr(settings, name)
    try:
        return () if dsn is None else unverified_hosts(dsn)
    except ValueError as error:
        raise BadSettings(f"{name}: {error}") from error


def kafka_settings(settings: Settings, world: World = "live") -> KafkaSettings:
    """Return how *settings* say that Kafka is reached in *world*.

    Raises:
        BadSettings: They do not say, or do not go together.
    """
    if not settings.kafka:
        raise BadSettings("kafka: this role needs it; set CS_KAFKA=host:port of some brokers")
    try:
        return KafkaSettings(
            bootstrap_servers=settings.kafka,
            prefix=settings.kafka_prefix,
            tls=settings.kafka_tls,
            insecure=settings.insecure_kafka or world == "sandbox",
            ca_file=settings.kafka_ca_file,
            certificate_file=settings.kafka_certificate_file,
            key_file=settings.kafka_key_file,
            sasl_mechanism=settings.kafka_sasl,
            username=settings.kafka_username,
            password=_kafka_password(settings),
            session_timeout_s=settings.kafka_session_timeout_s,
            rebalance_timeout_s=max(20.0, settings.kafka_session_timeout_s),
        )
    except ValueError as error:
        raise BadSettings(f"kafka: {error}") from error


def _kafka_password(settings: Settings) -> str | None:
    """Return the password of *settings*, itself or what stands in its file.

    Raises:
        BadSettings: Both are set, or the file holds none, cannot be read, or is open to
            others.
    """
    file, name = settings.kafka_password_file, "kafka_password_file"
    if file is None:
        return settings.kafka_password
    if settings.kafka_password is not None:
        raise BadSettings(f"{name}: kafka_password is set too; take one of the two away")
    return read_secret_line(file, name)
