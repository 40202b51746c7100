"""A private PostgreSQL: started from its own programs, ended by its process id."""

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.servers.missing import Missing
from harness.servers.own_folder import PID
from harness.servers.ports import free_ports
from harness.servers.processes import suspend
from harness.servers.programs import Binaries, find_binaries, passable

_START_S = 60
_STOP_S = 30
#: Between two looks at a server that starts.
_LOOK_S = 0.02
#: What a new start cures: memory of a killed predecessor, whose children end in a moment.
_PASSING = "is still in use"

#: A server whose data may be lost with the machine, for tests that only want answers.
_VOLATILE = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}


@dataclass
class Postgres:
    """One server in *folder*, which it has for itself."""

    folder: Path
    binaries: Binaries
    port: int
    settings: Mapping[str, str]
    _process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    @property
    def dsn(self) -> str:
        """The database `postgres`, as the superuser `cs`, without a password."""
        return self.dsn_of("postgres")

    def dsn_of(self, database: str) -> str:
        return f"postgresql://cs@127.0.0.1:{self.port}/{database}"

    @property
    def pid(self) -> int:
        """Of the postmaster."""
        assert self._process is not None, "it does not run"
        return self._process.pid

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def start(self) -> None:
        """Start and return when connections are accepted.

        Raises:
            Missing: It did not come up; the message ends with its log.
        """
        give_up = time.monotonic() + _START_S
        while not self._started(give_up):
            log = self.log
            if time.monotonic() > give_up or _PASSING not in log:
                raise Missing(f"PostgreSQL in {self.folder} did not start:\n{log[-2000:]}")

    def stop(self) -> None:
        """End in good order: connections are cut, nothing is lost."""
        self._end(signal.SIGINT)

    def restart(self) -> None:
        self.stop()
        self.start()

    def kill(self) -> None:
        """End as `kill -9` does; the next start recovers from the write-ahead log."""
        self._end(signal.SIGKILL)

    def suspend(self) -> None:
        """Stop the postmaster without ending it: new connections hang."""
        suspend(self.pid)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def _started(self, give_up: float) -> bool:
        data = self.folder / "data"
        options = {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
            **self.settings,
        }
        (self.folder / "log").write_bytes(b"")
        # Appended to: what is left of a killed server still writes its last words into it.
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(self.binaries.folder / "postgres", "-D", data),
                    *(f"--{name}={value}" for name, value in options.items()),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                start_new_session=True,
                **account(),
            )
        (self.folder / f"postmaster{PID}").write_text(str(self._process.pid))
        while time.monotonic() < give_up:
            try:
                self._process.wait(_LOOK_S)
            except subprocess.TimeoutExpired:
                if _ready(data / "postmaster.pid", self._process.pid):
                    return True
            else:
                self._process = None
                return False
        self.kill()
        return False

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        process.send_signal(how)
        process.send_signal(signal.SIGCONT)
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def running_postgres(
    folder: Path,
    *,
    binaries: Binaries | None = None,
    durable: bool = False,
    port: int | None = None,
    settings: Mapping[str, str] | None = None,
) -> Iterator[Postgres]:
    """Run `start_postgres` until left; then its files are removed."""
    server = start_postgres(
        folder, binaries=binaries, durable=durable, port=port, settings=settings
    )
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


def start_postgres(
    folder: Path,
    *,
    binaries: Binaries | None = None,
    durable: bool = False,
    port: int | None = None,
    settings: Mapping[str, str] | None = None,
) -> Postgres:
    """Make a new cluster in *folder* and start it.

    Args:
        folder: Empty or not there.  Its parents have to be passable for other accounts if root
            starts it: see `own_folder`.  Its path has at most 80 characters, for the unix
            socket in it.
        binaries: Those of `find_binaries()` unless given.
        durable: Whether data survives the machine (`fsync`); wanted for figures and faults.
        port: A free one unless given.
        settings: More of `postgresql.conf`, by name.

    Raises:
        Missing: There is no PostgreSQL, or it does not start.
    """
    binaries = binaries or find_binaries()
    folder.mkdir(parents=True, exist_ok=True)
    owner = account()
    if owner:
        shutil.chown(folder, owner["user"], owner["group"])
        binaries = passable(binaries, folder / "programs")
    _initialise(folder, binaries)
    more = ({} if durable else _VOLATILE) | {"max_connections": "200"} | dict(settings or {})
    server = Postgres(folder, binaries, port or free_ports(1)[0], more)
    for left in reversed(range(5)):
        try:
            server.start()
            break
        except Missing:
            if port is not None or not left:
                raise
            server.port = free_ports(1)[0]  # another process may have taken the first
    return server


def _initialise(folder: Path, binaries: Binaries) -> None:
    made = subprocess.run(
        [
            *(binaries.folder / "initdb", "-D", folder / "data", "-U", "cs", "--auth=trust"),
            *("-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        **account(),
    )
    if made.returncode:
        raise Missing(f"initdb of {binaries.folder} failed:\n{made.stdout}{made.stderr}")


def _ready(file: Path, pid: int) -> bool:
    """Whether the postmaster *pid* has noted that it accepts connections.

    The eighth line is its state, the first its process id: the lines are listed in
    `src/include/utils/pidfile.h` of PostgreSQL.
    """
    try:
        lines = file.read_text().splitlines()
    except FileNotFoundError:
        return False
    return len(lines) >= 8 and lines[0] == str(pid) and lines[7].strip() == "ready"


def account() -> dict[str, Any]:
    """Return the account to run PostgreSQL as, which refuses to run as root."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise Missing("Root cannot run PostgreSQL, and there is no account `postgres` or `nobody`.")
