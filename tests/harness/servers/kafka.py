"""A private Kafka of one broker or of three, ended by its process ids."""

import asyncio
import base64
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from harness.servers.kafka_jars import kafka_jars
from harness.servers.kafka_listeners import Listener, protocols
from harness.servers.missing import Missing
from harness.servers.own_folder import PID
from harness.servers.ports import free_ports
from harness.servers.processes import suspend
from harness.servers.programs import find_java

_START_S = 60
_STOP_S = 30
_FORMAT_S = 60
_LOOK_S = 0.05
_ANSWER_MS = 2_000
_TAKEN = "Address already in use"
_FAST_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
#: Without a configuration log4j logs errors only; this shows why a start failed.
_LOUD = "-Dorg.apache.logging.log4j.level=INFO"


@dataclass(frozen=True)
class Runtime:
    """What every broker of a cluster runs on."""

    java: Path
    jars: Path
    memory_mb: int

    def command(self, *words: str | Path) -> list[str]:
        return [str(self.java), *_FAST_START, *map(str, words)]


def kafka_runtime(memory_mb: int) -> Runtime:
    """Return what brokers run on here.

    Raises:
        Missing: There is no Java, or the jars cannot be had.
    """
    return Runtime(find_java(), kafka_jars(), memory_mb)


@dataclass
class Broker:
    """Broker and controller *number*, in a folder of its own."""

    number: int
    folder: Path
    runtime: Runtime
    port: int = 0
    controller_port: int = 0
    more_ports: dict[str, int] = field(default_factory=dict)  # by the listener's name
    process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def listens(self) -> bool:
        """Whether its port is open; it may still be unable to answer."""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    @property
    def pid(self) -> int:
        assert self.process is not None, f"broker {self.number} does not run"
        return self.process.pid

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def _settings(self) -> Path:
        return self.folder / "server.properties"

    def configure(self, settings: Mapping[str, str]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        ports = {"PLAINTEXT": self.port, **self.more_ports}
        clients = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
        own = {
            "process.roles": "broker,controller",
            "node.id": str(self.number),
            "listeners": f"{clients},CONTROLLER://127.0.0.1:{self.controller_port}",
            "advertised.listeners": clients,
            "log.dirs": str(self.data),
        }
        lines = (f"{name}={value}\n" for name, value in (own | dict(settings)).items())
        self._settings.write_text("".join(lines))

    def format(self, cluster_id: str, users: Mapping[str, str]) -> None:
        """Make the data folder by Kafka's own tool, with passwords of *users* for SCRAM.

        Raises:
            Missing: The storage tool refused; the message says why.
        """
        scram = [
            f"SCRAM-SHA-512=[name={name},password={password}]"
            for name, password in users.items()
        ]
        ran = subprocess.run(
            self.runtime.command(
                *("-cp", self.runtime.jars / "*", "kafka.tools.StorageTool", "format"),
                *("-t", cluster_id, "-c", self._settings),
                *(word for each in scram for word in ("--add-scram", each)),
            ),
            capture_output=True,
            text=True,
            check=False,
            timeout=_FORMAT_S,
        )
        if ran.returncode:
            raise Missing(f"Kafka's data folder could not be made:\n{ran.stdout}{ran.stderr}")

    def launch(self) -> None:
        """Start the process; it answers some seconds later."""
        memory = self.runtime.memory_mb
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.runtime.command(
                    *("-Xms128m", f"-Xmx{memory}m", _LOUD),
                    f"-Dkafka.logs.dir={self.folder}",
                    *("-cp", self.runtime.jars / "*", "kafka.Kafka", self._settings),
                ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env={name: v for name, v in os.environ.items() if name != "CLASSPATH"},
                start_new_session=True,
            )
        (self.folder / f"broker{PID}").write_text(str(self.process.pid))

    def wait_for(self, wanted: set[int]) -> None:
        """Return when it answers and knows all the *wanted* brokers alive.

        Raises:
            Missing: It did not come up; the message ends with its log.
        """
        give_up = time.monotonic() + _START_S
        why = f"it did not answer for {_START_S} s"
        while time.monotonic() < give_up:
            assert self.process is not None
            try:
                why = f"it ended with {self.process.wait(_LOOK_S)}"
                break
            except subprocess.TimeoutExpired:
                if self.listens and wanted <= _members(self.address):
                    return
        log = (self.folder / "log").read_text(errors="replace")[-3000:]
        self.end(signal.SIGKILL)
        raise Missing(f"Broker {self.number} in {self.folder} did not start: {why}:\n{log}")

    def end(self, how: signal.Signals) -> None:
        """Send *how* and wait for the end; nothing for a broker that has ended."""
        if self.process is None:
            return
        process, self.process = self.process, None
        process.send_signal(how)
        process.send_signal(signal.SIGCONT)
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@dataclass
class Kafka:
    """A cluster of brokers numbered from 1.

    Its methods block: in a coroutine call them through `asyncio.to_thread`.
    """

    brokers: list[Broker]
    settings: Mapping[str, str] = field(default_factory=dict)
    listeners: Sequence[Listener] = ()
    users: Mapping[str, str] = field(default_factory=dict)

    @property
    def bootstrap(self) -> str:
        """Addresses of all brokers, as clients take them."""
        return ",".join(broker.address for broker in self.brokers)

    def bootstrap_of(self, listener: str) -> str:
        """Addresses of all brokers' ports of that name."""
        ports = [broker.more_ports[listener] for broker in self.brokers]
        return ",".join(f"127.0.0.1:{port}" for port in ports)

    def start(self, number: int = 1) -> None:
        """Start the broker again, on its port and with its data.

        Raises:
            Missing: It did not come up; the message ends with its log.
        """
        self.brokers[number - 1].launch()
        self.brokers[number - 1].wait_for({number})

    def stop(self, number: int = 1) -> None:
        """End the broker in good order: what it led is handed over first."""
        self.brokers[number - 1].end(signal.SIGTERM)

    def kill(self, number: int = 1) -> None:
        self.brokers[number - 1].end(signal.SIGKILL)

    def suspend(self, number: int = 1) -> None:
        """Stop the broker without ending it: its connections stay open and silent."""
        suspend(self.brokers[number - 1].pid)

    def resume(self, number: int = 1) -> None:
        os.kill(self.brokers[number - 1].pid, signal.SIGCONT)

    def wipe(self) -> None:
        """Kill every broker and start all without data, on the same ports."""
        self.kill_all()
        for broker in self.brokers:
            shutil.rmtree(broker.data, ignore_errors=True)
        self.start_all()

    def start_all(self) -> None:
        """Start every broker, on new data where there is none."""
        cluster_id = _random_id()
        for broker in self.brokers:
            if not broker.data.exists():
                broker.format(cluster_id, self.users)
        for broker in self.brokers:
            broker.launch()
        for broker in self.brokers:
            broker.wait_for({each.number for each in self.brokers})

    def kill_all(self) -> None:
        for broker in self.brokers:
            broker.end(signal.SIGKILL)

    def take_ports(self) -> None:
        """Give every broker ports that are free now: two, and one for each more listener."""
        ports = iter(free_ports((2 + len(self.listeners)) * len(self.brokers)))
        for broker in self.brokers:
            broker.port, broker.controller_port = next(ports), next(ports)
            broker.more_ports = {each.name: next(ports) for each in self.listeners}
        voters = ",".join(f"{b.number}@127.0.0.1:{b.controller_port}" for b in self.brokers)
        settings = _SETTINGS | _copies(len(self.brokers))
        settings |= {"listener.security.protocol.map": protocols(self.listeners)}
        for listener in self.listeners:
            settings |= listener.lines()
        settings |= self.settings
        for broker in self.brokers:
            broker.configure(settings | {"controller.quorum.voters": voters})


@contextmanager
def running_kafka(
    folder: Path,
    *,
    brokers: int = 1,
    settings: Mapping[str, str] | None = None,
    listeners: Sequence[Listener] = (),
    users: Mapping[str, str] | None = None,
) -> Iterator[Kafka]:
    """Run `start_kafka` until left; then its files are removed."""
    kafka = start_kafka(
        folder, brokers=brokers, settings=settings, listeners=listeners, users=users
    )
    try:
        yield kafka
    finally:
        kafka.kill_all()
        shutil.rmtree(folder, ignore_errors=True)


def start_kafka(
    folder: Path,
    *,
    brokers: int = 1,
    settings: Mapping[str, str] | None = None,
    listeners: Sequence[Listener] = (),
    users: Mapping[str, str] | None = None,
) -> Kafka:
    """Make a new cluster in *folder* and start it.

    Args:
        folder: Empty or not there.
        brokers: 1, or 3 for three copies of everything of which two have to be written.
        settings: More of `server.properties`, by name, for every broker.
        listeners: More ports of every broker, besides the one without authentication.
        users: Passwords by name, for listeners that ask by SCRAM-SHA-512.

    Raises:
        Missing: There is no Java, the jars cannot be had, or it does not start.
    """
    runtime = kafka_runtime(memory_mb=512 if brokers == 1 else 384)
    made = [Broker(n, folder / f"broker-{n}", runtime) for n in range(1, brokers + 1)]
    kafka = Kafka(made, settings or {}, listeners, users or {})
    for left in (2, 1, 0):
        kafka.take_ports()
        try:
            kafka.start_all()
            break
        except BaseException as error:
            kafka.kill_all()
            # Another process may take a port after it was found free.
            if not (isinstance(error, Missing) and _TAKEN in str(error) and left):
                raise
    return kafka


def _members(address: str) -> set[int]:
    """Return the numbers of the brokers that the one at *address* knows alive."""

    async def ask() -> set[int]:
        admin = AIOKafkaAdminClient(bootstrap_servers=address, request_timeout_ms=_ANSWER_MS)
        try:
            await admin.start()
            described = await admin.describe_cluster()
        except (KafkaError, OSError):
            return set()
        finally:
            await admin.close()
        return {broker["node_id"] for broker in described["brokers"]}

    # In a thread of its own: the caller's may have a loop that runs.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, ask()).result()


def _random_id() -> str:
    """Return 16 random bytes as Kafka writes them; a leading dash would read as an option."""
    while (text := base64.urlsafe_b64encode(secrets.token_bytes(16))).startswith(b"-"):
        pass
    return text.rstrip(b"=").decode()


def _copies(brokers: int) -> dict[str, str]:
    copies, least = (3, 2) if brokers >= 3 else (1, 1)
    return {
        "default.replication.factor": str(copies),
        "min.insync.replicas": str(least),
        "offsets.topic.replication.factor": str(copies),
        "transaction.state.log.replication.factor": str(copies),
        "transaction.state.log.min.isr": str(least),
        "share.coordinator.state.topic.replication.factor": str(copies),
        "share.coordinator.state.topic.min.isr": str(least),
    }


_SETTINGS = {
    "inter.broker.listener.name": "PLAINTEXT",
    "controller.listener.names": "CONTROLLER",
    "auto.create.topics.enable": "false",
    "unclean.leader.election.enable": "false",
    # How long a silent broker leads, and the least a consumer may ask for itself.
    "broker.session.timeout.ms": "6000",
    "group.min.session.timeout.ms": "6000",
    "group.initial.rebalance.delay.ms": "0",
    # Small, for two cores and many topics.
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "log.segment.bytes": "16777216",
}
