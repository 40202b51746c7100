"""Both PostgreSQL servers of compose.yaml, made by the scripts that its containers run."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from deploy.compose_files import FOLDER
from harness.servers.own_folder import own_folder
from harness.servers.postgres import Postgres, running_postgres

SCRIPTS = {"postgres": "service-and-stages.sql", "keys-postgres": "keys.sql"}


class Databases:
    """Both servers of compose.yaml, and the secrets, with this machine's ports in them."""

    def __init__(self, folder: Path, servers: dict[str, Postgres]) -> None:
        self.servers = servers
        subprocess.run([FOLDER / "make-secrets", folder], check=True, capture_output=True)
        self.secrets = folder / "secrets"
        for name in ("service_pgpass", "stages_pgpass", "migrate_pgpass"):
            lines = (self.secrets / name).read_text().splitlines()
            here = [self._here(line) for line in lines]
            (self.secrets / name).write_text("\n".join(here) + "\n")
        for name, script in SCRIPTS.items():
            self._run(servers[name], FOLDER / "postgres" / script)

    def dsn(self, user: str, database: str, passwords: str, server: str = "postgres") -> str:
        port = self.servers[server].port
        file = self.secrets / passwords
        return f"postgresql://{user}@127.0.0.1:{port}/{database}?passfile={file}"

    def of_this_machine(self, word: str) -> str:
        """Return *word* of compose.yaml with the servers and secrets that are here."""
        for name, server in self.servers.items():
            word = word.replace(f"@{name}:5432", f"@127.0.0.1:{server.port}")
        return word.replace("/run/secrets", str(self.secrets))

    def _here(self, line: str) -> str:
        server, _, rest = line.split(":", 2)
        return f"127.0.0.1:{self.servers[server].port}:{rest}"

    def _run(self, server: Postgres, script: Path) -> None:
        subprocess.run(
            [server.binaries.folder / "psql", "--no-psqlrc", server.dsn, "-f", script],
            env={"CS_SECRETS": str(self.secrets), "PATH": "/usr/bin:/bin"},
            check=True,
            capture_output=True,
        )


@contextmanager
def running_databases() -> Iterator[Databases]:
    """Run both servers until left.

    Raises:
        Missing: There is no PostgreSQL.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(own_folder())
        servers = {}
        for name in SCRIPTS:
            server = stack.enter_context(running_postgres(folder / name))
            _ask_for_passwords(server)
            servers[name] = server
        (folder / "made").mkdir(mode=0o711)
        yield Databases(folder / "made", servers)


def _ask_for_passwords(server: Postgres) -> None:
    """Trust only the superuser of the tests, `cs`, as images do on their own socket."""
    (server.folder / "data" / "pg_hba.conf").write_text(
        "host all cs 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
    )
    server.restart()
