"""A private Kafka of one broker or of three, ended by its process ids."""

import asyncio
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from harness.servers.kafka_broker import Broker, Runtime, random_id
from harness.servers.kafka_jars import kafka_jars
from harness.servers.kafka_listeners import Listener, protocols
from harness.servers.missing import Missing
from harness.servers.ports import free_ports
from harness.servers.programs import find_java

_START_S = 60
_LOOK_S = 0.05
_ANSWER_MS = 2_000
_TAKEN = "Address already in use"


#: What clusters begin with, by jars and users.
_beginnings: dict[tuple[object, ...], bytes] = {}


@dataclass
class Kafka:
    """A cluster of brokers numbered from 1.

    What waits here blocks: in a coroutine call it through `asyncio.to_thread`.
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
        """Start the broker again, on its port and with its data, until it is of the cluster.

        Raises:
            Missing: It did not come up; the message ends with its log.
        """
        broker = self._broker(number)
        broker.launch()
        self._await(broker, {number})

    def stop(self, number: int = 1) -> None:
        """End the broker in good order: what it led is handed over first."""
        self._broker(number).end(signal.SIGTERM)

    def kill(self, number: int = 1) -> None:
        """End the broker as `kill -9` does."""
        self._broker(number).end(signal.SIGKILL)

    def suspend(self, number: int = 1) -> None:
        """Stop the broker in its tracks: its connections stay open and silent."""
        self._broker(number).suspend()

    def resume(self, number: int = 1) -> None:
        self._broker(number).send(signal.SIGCONT)

    def wipe(self) -> None:
        """Kill every broker, forget every topic and offset, and start empty, where it was."""
        self.kill_all()
        for broker in self.brokers:
            broker.forget()
        self.start_all()

    def start_all(self) -> None:
        """Start every broker, on new data where there is none."""
        self._format()
        for broker in self.brokers:
            broker.launch()
        everybody = {broker.number for broker in self.brokers}
        for broker in self.brokers:
            self._await(broker, everybody)

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

    def _broker(self, number: int) -> Broker:
        return self.brokers[number - 1]

    def _format(self) -> None:
        """Make the data folders that are not there.

        The tool takes 0.6 s of processor, and does the same for every broker of every cluster
        with these users: it runs once in a process.
        """
        cluster_id = random_id()
        for broker in self.brokers:
            if broker.formatted:
                continue
            of = (broker.runtime.jars, *sorted(self.users.items()))
            if of in _beginnings:
                broker.format_as(cluster_id, _beginnings[of])
            else:
                _beginnings[of] = broker.format(cluster_id, self.users)

    def _await(self, broker: Broker, wanted: set[int]) -> None:
        """Return when *broker* answers and says that all the *wanted* are of its cluster."""
        give_up = time.monotonic() + _START_S
        why = f"it did not answer for {_START_S} s"
        while time.monotonic() < give_up:
            assert broker.process is not None
            try:
                why = f"it ended with {broker.process.wait(_LOOK_S)}"
                break
            except subprocess.TimeoutExpired:
                if broker.listens and wanted <= _members(broker.address):
                    return
        said = broker.log[-3000:]
        broker.end(signal.SIGKILL)
        raise Missing(
            f"Broker {broker.number} in {broker.folder} did not start: {why}:\n{said}"
        )


@contextmanager
def running_kafka(
    folder: Path,
    *,
    brokers: int = 1,
    settings: Mapping[str, str] | None = None,
    listeners: Sequence[Listener] = (),
    users: Mapping[str, str] | None = None,
) -> Iterator[Kafka]:
    """Make a new cluster in *folder* and run it until left; then its files are removed.

    Args:
        folder: Empty or not there.
        brokers: 1, or 3 for three copies of everything of which two have to be written.
        settings: More of `server.properties`, by name, for every broker.
        listeners: More ports of every broker, beside the one that asks for nothing.
        users: Passwords by name, for listeners that ask by SCRAM-SHA-512.

    Raises:
        Missing: There is no Java, the jars cannot be had, or it does not start.
    """
    runtime = kafka_runtime(memory_mb=512 if brokers == 1 else 384)
    numbers = range(1, brokers + 1)
    made = [Broker(n, folder / f"broker-{n}", 0, 0, runtime) for n in numbers]
    kafka = Kafka(made, settings or {}, listeners, users or {})
    try:
        _start_on_free_ports(kafka)
        yield kafka
    finally:
        kafka.kill_all()
        shutil.rmtree(folder, ignore_errors=True)


def kafka_runtime(memory_mb: int) -> Runtime:
    """Return what brokers run on here.

    Raises:
        Missing: There is no Java, or the jars cannot be had.
    """
    return Runtime(find_java(), kafka_jars(), memory_mb)


def _start_on_free_ports(kafka: Kafka, tries: int = 3) -> None:
    """Start, and again elsewhere where somebody took a port since it was found free."""
    for left in reversed(range(tries)):
        kafka.take_ports()
        try:
            kafka.start_all()
        except Missing as missing:
            kafka.kill_all()
            if _TAKEN not in str(missing) or not left:
                raise
        else:
            return


def _members(address: str) -> set[int]:
    """Return the numbers of the brokers that the one at *address* knows alive."""

    async def ask() -> set[int]:
        admin = AIOKafkaAdminClient(bootstrap_servers=address, request_timeout_ms=_ANSWER_MS)
        try:
            await admin.start()
            told = await admin.describe_cluster()
        except (KafkaError, OSError):
            return set()
        finally:
            await admin.close()
        return {broker["node_id"] for broker in told["brokers"]}

    # In a thread of its own: the caller's may have a loop that runs.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, ask()).result()


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
