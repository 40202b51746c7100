"""A whole service over several processes on this machine, with its servers and its world."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg

from cs.domain.stages.table import OWN_STAGES
from harness.api_keys import key_for
from harness.forked_process import run_command
from harness.servers.kafka import Kafka, running_kafka
from harness.servers.own_folder import own_folder
from harness.servers.ports import free_ports
from harness.servers.postgres import Postgres, running_postgres
from harness.service_process import ServiceProcess

#: Every kind of role, as it is started; all but the API have no port but the admin one.
KINDS: Mapping[str, Sequence[str]] = {
    "api": ("api",),
    "relay": ("relay",),
    "process-manager": ("process-manager",),
    "project": ("project",),
    **{f"stage-{name}": ("stage", name) for name in OWN_STAGES},
}
#: The same, and what a service need not have.
ROLES = {**KINDS, "console": ("console",)}
STORES = ("service", "keys", "stages")

#: Hears of each step while a cluster starts.
Tell = Callable[[str], None]


def _silent(_: str) -> None:
    pass


@dataclass
class Cluster:
    """The servers run; the roles are started and ended one by one or all together."""

    folder: Path
    postgres: Postgres
    kafka: Kafka
    environment: dict[str, str]  # of roles that hold the master key, and of commands
    stage_environment: dict[str, str]  # of stages and of the world: no key, no other database
    world: ServiceProcess
    settings_file: Path
    roles: dict[str, ServiceProcess] = field(default_factory=dict)  # "relay-1"
    ports: dict[str, int] = field(default_factory=dict)  # of the API, by name: "api-1"
    admin_ports: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, **more: str) -> ServiceProcess:
        """Add one role of *kind*, not started; *more* goes into its environment."""
        number = 1 + sum(name.rpartition("-")[0] == kind for name in self.roles)
        name = f"{kind}-{number}"
        port, admin_port = free_ports(2)
        role = ROLES.get(kind) or ("stage", kind.removeprefix("stage-"))
        words = [*role, "--sandbox", "--config", str(self.settings_file)]
        words += ["--admin-port", str(admin_port)]
        if kind == "api":
            words += ["--port", str(port)]
            self.ports[name] = port
        self.admin_ports[name] = admin_port
        base = self.stage_environment if kind.startswith("stage-") else self.environment
        log = self.folder / f"{name}.log"
        process = ServiceProcess(name, words, {**base, **more}, log)
        self.roles[name] = process
        return process

    def start(self, each: int = 1, tell: Tell = _silent, kinds: Iterable[str] = KINDS) -> None:
        """Start *each* roles of *kinds*, and return when all of them work."""
        for kind in kinds:
            for _ in range(each):
                self.add(kind).start()
        for done, role in enumerate(self.roles.values(), 1):
            role.wait_ready()
            tell(f"{role.name} runs, {done} of {len(self.roles)}")

    def start_missing(self) -> None:
        """Start every role that does not run, and return when all of them work."""
        missing = [role for role in self.roles.values() if not role.runs]
        for role in missing:
            role.start()
        for role in missing:
            role.wait_ready()

    def start_ended(self, tell: Tell) -> None:
        """Start every role again that has ended, as a supervisor of processes does."""
        for name, role in self.roles.items():
            if not role.runs:
                how = end_in_words(role.exit_code)
                why = f": {role.last_line}" if (role.exit_code or 0) > 0 else ""
                role.start()
                tell(f"{name} has ended ({how}{why}); it runs again as {role.pid}")

    @property
    def urls(self) -> list[str]:
        """Where the nodes of the API are, with /v1."""
        return [f"http://127.0.0.1:{port}/v1" for port in self.ports.values()]

    @property
    def admin_url(self) -> str:
        """Where the admin port of the first node of the API is."""
        return f"http://127.0.0.1:{self.admin_ports['api-1']}"

    def of(self, kind: str) -> list[ServiceProcess]:
        """Return the roles of *kind*."""
        return [role for name, role in self.roles.items() if name.rpartition("-")[0] == kind]

    def make_topics(self) -> None:
        """Make the topics that are missing, with as many copies as production has."""
        replicas = min(3, len(self.kafka.brokers))
        bootstrap = self.kafka.bootstrap
        self.command("topics", "apply", f"--bootstrap={bootstrap}", f"--replication={replicas}")

    def command(self, *words: str) -> str:
        """Run ``cs`` with *words*, while the service runs; return what it prints.

        Raises:
            subprocess.CalledProcessError: It failed; its words are in `stderr`.
        """
        return run_command(words, self.environment).stdout

    async def fetch(self, query: str, *values: object) -> list[asyncpg.Record]:
        """Return the rows of *query* in the database of the service."""
        connection = await asyncpg.connect(self.postgres.dsn_of("service"))
        try:
            rows: list[asyncpg.Record] = await connection.fetch(query, *values)
        finally:
            await connection.close()
        return rows

    def new_key(self, quota: int = 100) -> dict[str, Any]:
        """Return a new API key: its ``id`` and secret ``key``."""
        return key_for(self.environment, quota)

    def end(self) -> None:
        """End every role, all at once."""
        for role in self.roles.values():
            role.resume()
            if role.runs:
                os.kill(role.pid, 15)
        for role in self.roles.values():
            role.end()


@contextmanager
def running_cluster(
    *,
    brokers: int = 1,
    each: int = 1,
    kinds: Iterable[str] = KINDS,
    world: Path | None = None,
    durable: bool = False,
    packages: Path | None = None,
    tell: Tell = _silent,
) -> Iterator[Cluster]:
    """Run servers, databases, topics, a world and *each* roles of *kinds* until left.

    With *packages*, a folder of installed packages, every process starts from nothing and
    finds their entry points.

    Nothing is left behind, in whatever way the block ends.

    Raises:
        Missing: A server cannot be had.
        NotRunning: A role did not start.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(own_folder())
        postgres = stack.enter_context(running_postgres(folder / "pg", durable=durable))
        tell(f"PostgreSQL {postgres.binaries.version} runs")
        kafka = stack.enter_context(running_kafka(folder / "kafka", brokers=brokers))
        tell(f"Kafka runs: {counted(brokers, 'broker')}")
        cluster = _prepared(folder, postgres, kafka, brokers, world, packages=packages)
        tell("three databases and the topics are made")
        stack.callback(cluster.world.end)
        cluster.world.start()
        cluster.world.wait_ready()
        tell("the sandbox world runs")
        stack.callback(cluster.end)
        cluster.start(each, tell, kinds)
        yield cluster


def end_in_words(code: int | None) -> str:
    """Return an exit *code* of `subprocess` in words.

    >>> end_in_words(-9), end_in_words(2)
    ('SIGKILL', 'exit code 2')
    """
    if code is not None and code < 0:
        return signal.Signals(-code).name
    return f"exit code {code}"


def counted(number: int, what: str) -> str:
    """Return *number* of *what*, as one says it."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def _prepared(
    folder: Path,
    postgres: Postgres,
    kafka: Kafka,
    brokers: int,
    world: Path | None,
    *,
    packages: Path | None,
) -> Cluster:
    asyncio.run(_make_databases(postgres.dsn))
    master = folder / "master.key"
    master.write_bytes(os.urandom(32))
    master.chmod(0o600)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CS_")}
    if packages is not None:
        path = (clean.get("PYTHONPATH"), str(packages))
        clean["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    session = {"CS_KAFKA": kafka.bootstrap, "CS_KAFKA_SESSION_TIMEOUT_S": "6"}
    sealing = folder / "stages.key"
    sealing.write_bytes(os.urandom(32))
    sealing.chmod(0o600)
    session["CS_STAGES_KEY_FILE"] = str(sealing)
    stages = {**clean, **session, "CS_STAGES_POSTGRES": postgres.dsn_of("stages")}
    whole = {
        **stages,
        "CS_POSTGRES": postgres.dsn_of("service"),
        "CS_KEYS_POSTGRES": postgres.dsn_of("keys"),
        "CS_MASTER_KEY_FILE": str(master),
    }
    file = folder / "world.toml"
    words = ["sandbox", "run", *([str(world)] if world else []), "--write", str(file)]
    cluster = Cluster(
        folder=folder,
        postgres=postgres,
        kafka=kafka,
        environment=whole,
        stage_environment=stages,
        world=ServiceProcess("world", words, stages, folder / "world.log"),
        settings_file=file,
    )
    topics = ("topics", "apply", f"--replication={min(3, brokers)}")
    with ThreadPoolExecutor() as both:
        list(both.map(lambda words: cluster.command(*words), [("db", "migrate"), topics]))
    return cluster


async def _make_databases(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        for store in STORES:
            await connection.execute(f"CREATE DATABASE {store}")
    finally:
        await connection.close()
