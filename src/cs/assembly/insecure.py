"""Connections that leave this machine without proof of who answers, and who allowed them.

In the live world they are refused unless the operator says otherwise by ``insecure_postgres``
or ``insecure_kafka``; then `/readyz` and the log keep mentioning them.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from structlog import get_logger

from cs.admin.health import ReadinessCheck
from cs.bus.errors import BadKafkaSettings
from cs.bus.kafka.settings import KafkaSettings
from cs.bus.kafka.settings import in_clear as kafka_in_clear
from cs.domain.service import World
from cs.postgres.pool import check_address
from cs.postgres.server_identity import unverified_hosts
from cs.settings import BadSettings, Settings

log = get_logger()

#: Between two mentions in the log.
EVERY_S = 3600.0

#: Settings that hold the address of a database.
DATABASES = ("postgres", "keys_postgres", "stages_postgres")


def check_databases(settings: Settings) -> None:
    """Pass if every database elsewhere has to prove who it is, or need not by a setting.

    Raises:
        BadSettings: Naming the address, or what is wrong with it.
    """
    for name in DATABASES:
        if (dsn := getattr(settings, name)) is not None:
            try:
                check_address(dsn, insecure=settings.insecure_postgres)
            except ValueError as error:
                raise BadSettings(f"{name}: {error}") from error


def insecure_connections(settings: Settings, world: World) -> Mapping[str, Sequence[str]]:
    """Return hosts by the setting that names them; none in a sandbox, where nothing is real.

    Raises:
        BadSettings: An address is wrong.
    """
    if world == "sandbox":
        return {}
    every = {name: _hosts(settings, name) for name in DATABASES}
    every["kafka"] = _brokers(settings)
    return {name: hosts for name, hosts in every.items() if hosts}


class InsecureReadiness:
    """The readiness of a role, with its insecure connections listed; they change nothing."""

    def __init__(self, role: ReadinessCheck, connections: Mapping[str, Sequence[str]]) -> None:
        self._role = role
        self._connections = connections

    async def check(self) -> tuple[bool, dict[str, object]]:
        ready, body = await self._role.check()
        return ready, body | ({"insecure": self._connections} if self._connections else {})


@asynccontextmanager
async def log_insecure_connections(
    connections: Mapping[str, Sequence[str]], *, every_s: float = EVERY_S
) -> AsyncIterator[None]:
    """Mention *connections* in the log now, and then every *every_s*, until left."""
    async with asyncio.TaskGroup() as tasks:
        mentioning = tasks.create_task(_mention(connections, every_s), name="insecure")
        try:
            yield
        finally:
            mentioning.cancel()


async def _mention(connections: Mapping[str, Sequence[str]], every_s: float) -> None:
    while True:
        for setting, hosts in connections.items():
            log.warning("insecure_connection", setting=setting, hosts=list(hosts))
        await asyncio.sleep(every_s)


def _hosts(settings: Settings, name: str) -> Sequence[str]:
    dsn: str | None = getattr(settings, name)
    try:
        return () if dsn is None else unverified_hosts(dsn)
    except ValueError as error:
        raise BadSettings(f"{name}: {error}") from error


def _brokers(settings: Settings) -> Sequence[str]:
    if not settings.kafka:
        return ()
    try:
        return kafka_in_clear(
            KafkaSettings(
                bootstrap_servers=settings.kafka, tls=settings.kafka_tls, insecure=True
            )
        )
    except BadKafkaSettings as error:
        raise BadSettings(f"kafka: {error}") from error
