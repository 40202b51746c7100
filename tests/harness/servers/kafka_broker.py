"""One Kafka broker as a process: its folder, its settings, its life."""

import base64
import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGCONT, Signals

from harness.servers.missing import Missing
from harness.servers.own_folder import PID
from harness.servers.suspending import suspend

_STOP_S = 30
_FORMAT_S = 60
#: In the data folder: versions of features, and users.
_BOOTSTRAP = "bootstrap.checkpoint"
_FAST_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
#: Without a configuration log4j tells errors only; this says what a failed start was about.
_LOUD = "-Dorg.apache.logging.log4j.level=INFO"


@dataclass(frozen=True)
class Runtime:
    """What every broker of a cluster runs on."""

    java: Path
    jars: Path
    memory_mb: int

    def command(self, *words: str | Path) -> list[str]:
        return [str(self.java), *_FAST_START, *map(str, words)]


@dataclass
class Broker:
    """Broker and controller *number*, in a folder of its own."""

    number: int
    folder: Path
    port: int
    controller_port: int
    runtime: Runtime
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
    def log(self) -> str:
        file = self.folder / "log"
        return file.read_text(errors="replace") if file.exists() else ""

    def configure(self, settings: Mapping[str, str]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        ports = {"PLAINTEXT": self.port, **self.more_ports}
        clients = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
        own = {
            "process.roles": "broker,controller",
            "node.id": str(self.number),
            "listeners": f"{clients},CONTROLLER://127.0.0.1:{self.controller_port}",
            "advertised.listeners": clients,
            "log.dirs": str(self._data),
        }
        lines = (f"{name}={value}\n" for name, value in (own | dict(settings)).items())
        self._settings.write_text("".join(lines))

    def format(self, cluster_id: str, users: Mapping[str, str]) -> bytes:
        """Make the data folder by Kafka's own tool; return what the cluster is to begin with.

        Args:
            cluster_id: The same for all brokers.
            users: Passwords by name, for SCRAM.

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
        return (self._data / _BOOTSTRAP).read_bytes()

    def format_as(self, cluster_id: str, beginning: bytes) -> None:
        """Make the data folder with what `format` of another has returned, and no process."""
        self._data.mkdir()
        properties = {
            "version": "1",
            "cluster.id": cluster_id,
            "node.id": str(self.number),
            "directory.id": random_id(),
        }
        lines = (f"{name}={value}\n" for name, value in properties.items())
        (self._data / "meta.properties").write_text("".join(lines))
        (self._data / _BOOTSTRAP).write_bytes(beginning)

    @property
    def formatted(self) -> bool:
        return self._data.exists()

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

    def suspend(self) -> None:
        """Stop it; none of its threads runs any more on return."""
        assert self.process is not None, f"broker {self.number} does not run"
        suspend(self.process.pid)

    def send(self, what: Signals) -> None:
        assert self.process is not None, f"broker {self.number} does not run"
        os.kill(self.process.pid, what)

    def end(self, how: Signals) -> None:
        """Send *how* and wait for the end; nothing for a broker that has ended."""
        if self.process is None:
            return
        process, self.process = self.process, None
        process.send_signal(how)
        process.send_signal(SIGCONT)
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def forget(self) -> None:
        """Remove what it stored, as a lost disk does."""
        shutil.rmtree(self._data, ignore_errors=True)

    @property
    def _settings(self) -> Path:
        return self.folder / "server.properties"

    @property
    def _data(self) -> Path:
        return self.folder / "data"


def random_id() -> str:
    """Return 16 random bytes as Kafka writes them; a leading dash would read as an option."""
    while (text := base64.urlsafe_b64encode(secrets.token_bytes(16))).startswith(b"-"):
        pass
    return text.rstrip(b"=").decode()
