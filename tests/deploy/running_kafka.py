"""Kafka as the compose files have it, on real brokers: its settings, users and start."""

import os
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from deploy.compose_files import FOLDER
from harness.servers.kafka import kafka_runtime
from harness.servers.missing import Missing
from harness.servers.ports import free_ports

START_S = 60
_MEMORY_MB = 384
_LOOK_S = 0.1
_STOP_S = 30
START = "./kafka/start:/etc/contact-search/start:ro"
#: What the image runs, as far as it matters here (docker/jvm/launch in Kafka's repository).
_RUN = """#!/bin/sh
{java} -cp '{jars}/*' kafka.docker.KafkaDockerWrapper setup --default-configs-dir {folder} \
    --mounted-configs-dir {folder}/none --final-configs-dir {folder} > {folder}/setup 2>&1 \
    || grep -qi "already formatted" {folder}/setup || {{ cat {folder}/setup; exit 1; }}
exec {java} $KAFKA_OPTS -Dorg.apache.logging.log4j.level=INFO \
    -Dkafka.logs.dir={folder} -cp '{jars}/*' kafka.Kafka {folder}/server.properties
"""
_STORAGE = """#!/bin/sh
exec {java} -cp '{jars}/*' kafka.tools.StorageTool "$@"
"""


class Brokers:
    """The brokers of the compose files by name, with this machine's ports.

    Args:
        services: Of the compose files, as merged.
        secrets: What `deploy/make-secrets` made.
        folder: Empty; for all they write.
    """

    def __init__(self, services: Mapping[str, Any], secrets: Path, folder: Path) -> None:
        names = [name for name in services if name.startswith("kafka")]
        ports = iter(free_ports(3 * len(names)))
        self._services = services
        self._folder = folder
        #: What stands in the files and what it is here; longer names first.
        self.here = {"/run/secrets": str(secrets)}
        for name in sorted(names, reverse=True):
            for port in ("9092", "9093", "9094"):
                self.here[f"{name}:{port}"] = f"127.0.0.1:{next(ports)}"
        self.names = names

    def address(self, name: str = "kafka", port: str = "9092") -> str:
        return self.here[f"{name}:{port}"]

    @contextmanager
    def running(self) -> Iterator["Brokers"]:
        """Run all until left.

        Raises:
            Missing: One does not start; the message ends with its log.
        """
        with ExitStack() as stack:
            started = [(name, stack.enter_context(self._process(name))) for name in self.names]
            for name, process in started:
                self._await(name, process)
            yield self

    @contextmanager
    def _process(self, name: str) -> Iterator["subprocess.Popen[bytes]"]:
        folder = self._folder / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "server.properties").touch()
        runtime = kafka_runtime(memory_mb=_MEMORY_MB)
        java = shlex.join(runtime.command(f"-Xmx{_MEMORY_MB}m"))
        tools = {"java": java, "jars": runtime.jars, "folder": folder}
        for file, text in (("run", _RUN), ("kafka-storage.sh", _STORAGE)):
            (folder / file).write_text(text.format(**tools))
            (folder / file).chmod(0o700)
        service = self._services[name]
        assert START in service["volumes"]
        assert service["entrypoint"] == ["/bin/bash", START.split(":")[1]]
        script = (FOLDER / START.split(":", maxsplit=1)[0]).read_text()
        given = service["environment"] | {"KAFKA_HEAP_OPTS": ""}
        environment = {key: self._of_here(name, value) for key, value in given.items()}
        with (folder / "log").open("ab") as log:
            process = subprocess.Popen(
                ["/bin/bash", "-c", self._of_here(name, script)],
                env=environment | {"PATH": os.environ["PATH"]},
                stdout=log,
                stderr=log,
                cwd=folder,
            )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _await(self, name: str, process: "subprocess.Popen[bytes]") -> None:
        host, port = self.address(name).split(":")
        give_up = time.monotonic() + START_S
        while time.monotonic() < give_up and process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex((host, int(port))) == 0:
                    return
            time.sleep(_LOOK_S)
        raise Missing(f"{name}: {(self._folder / name / 'log').read_text()[-3000:]}")

    def _of_here(self, name: str, text: str) -> str:
        folder = self._folder / name
        tools = {
            "/opt/kafka/bin": str(folder),
            "/etc/kafka/docker/run": str(folder / "run"),
            "/tmp/format.properties": str(folder / "format.properties"),
            "/var/lib/kafka/data": str(folder / "data"),
        }
        own = {f"://:{port}": f"://{self.address(name, port)}" for port in _PORTS}
        for there, here in (self.here | tools | own).items():
            text = text.replace(there, here)
        return text


_PORTS = ("9092", "9093", "9094")
