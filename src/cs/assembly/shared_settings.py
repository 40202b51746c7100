"""The settings of a service over several processes, checked together."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from cs.assembly.insecure import DATABASES, check_databases, insecure_connections
from cs.assembly.kafka_settings import kafka_settings
from cs.assembly.postgres_pools import read_key, required
from cs.bus.errors import BadKafkaSettings
from cs.bus.kafka.settings import client_options
from cs.runtime.data_folder import MASTER_KEY
from cs.settings import BadSettings, Settings

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
    check_databases(chosen)
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
