"""How a role reaches Kafka, as the settings say."""

from cs.bus.kafka.settings import KafkaSettings
from cs.domain.service import World
from cs.runtime.private_files import exposed
from cs.settings import BadSettings, Settings

#: More is no password: another file was named by mistake.
_PASSWORD_BYTES = 1_024


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
    try:
        if exposure := exposed(file):
            raise BadSettings(f"{name}: {exposure}")
        with file.open("rb") as opened:
            written = opened.read(_PASSWORD_BYTES + 1)
    except OSError as error:
        raise BadSettings(f"{name}: {file} cannot be read: {error.strerror}") from error
    try:
        password = written.decode().rstrip("\r\n")  # which editors and `echo` leave
    except UnicodeDecodeError:
        password = ""
    if not password.isprintable() or not password or len(written) > _PASSWORD_BYTES:
        raise BadSettings(
            f"{name}: {file}: one line of UTF-8 text, at most {_PASSWORD_BYTES} bytes"
        )
    return password
