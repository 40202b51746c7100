"""`cs people` about somebody in a made-up history, in a data folder and in databases."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cli.command import Here
from cs.assembly.operator_command import open_command_context
from cs.postgres.pool import connected, open_pool
from cs.postgres.schema import migrate
from cs.settings import Settings
from harness.servers.fixtures import new_database
from history.people import Found, Seen, store

PROFILE = "https://www.linkedin.com/in/jane-roe"
JANE = Seen("Jane Roe", "Acme", PROFILE, "jane@acme.test")
UNLINKED = Seen("Jane Roe", "Acme")
JO = Seen("Jo Ode", "Acme", "https://www.linkedin.com/in/jo-ode", "jo@acme.test")
HISTORY = [Found("Acme", (JANE, JO)), Found("Zenith", (JO, UNLINKED))]
WHY = "Headlines come without titles, ticket 4711"


async def with_history(settings: Settings) -> None:
    async with open_command_context(settings, new=True) as data:
        await store(data.log, HISTORY)


class PeopleCommands:
    """Inherit, and give a fixture ``at``, the option that names the data of `HISTORY`."""

    def test_an_erasure_tells_which_exports_may_hold_the_person(
        self, at: str, here: Here, tmp_path: Path
    ) -> None:
        out = tmp_path / "acme.ndjson"
        for words in (
            ("--brand=acme", f"--out={out}"),
            ("--type=lookup-started",),
            ("--category=key",),
        ):
            assert here("events", "export", *words, at, "--reveal", WHY).code == 0
        sealed = tmp_path / "sealed.ndjson"
        assert here("events", "export", at, f"--out={sealed}").code == 0
        assert "Jane Roe" in out.read_text()
        assert "Jane Roe" not in sealed.read_text()

        (foreseen,) = here(
            "people", "erase", f"--profile={PROFILE}", "--dry-run", "--json", at
        ).rows
        told = here("people", "erase", f"--profile={PROFILE}", at, width=200)
        (again,) = here("people", "erase", f"--profile={PROFILE}", "--json", at).rows

        (one,) = foreseen["disclosed"]
        assert (one["command"], one["file"], one["why"]) == (
            "events export",
            "acme.ndjson",
            WHY,
        )
        assert again["disclosed"] == [one]
        assert "erased from 2 lookups" in told.out
        assert "1 disclosure may hold this person; delete what was written then:" in told.out
        assert "acme.ndjson" in told.out
        after = here("events", "export", at, "--reveal", WHY)
        assert "Jane" not in after.out
        assert "Jo Ode" in after.out
        (still,) = here("people", "erase", f"--profile={PROFILE}", "--json", at).rows
        assert still["disclosed"] == [one], "what was opened afterwards cannot hold them"


class TestInFiles(PeopleCommands):
    @pytest.fixture
    def at(self, tmp_path: Path) -> str:
        asyncio.run(with_history(Settings(data_dir=tmp_path / "data")))
        return f"--data-dir={tmp_path / 'data'}"


class TestInDatabases(PeopleCommands):
    @pytest.fixture
    async def at(self, postgres: str, tmp_path: Path) -> AsyncIterator[str]:
        key = tmp_path / "master.key"
        key.write_bytes(os.urandom(32))
        key.chmod(0o600)
        async with new_database(postgres) as service, new_database(postgres) as keys:
            for dsn, what in ((service, "service"), (keys, "keys")):
                async with open_pool(dsn, role="test") as pool, connected(pool) as connection:
                    await migrate(connection, what)  # type: ignore[arg-type]
            named = {"postgres": service, "keys_postgres": keys, "master_key_file": str(key)}
            config = tmp_path / "cs.toml"
            config.write_text("".join(f"{name} = {at!r}\n" for name, at in named.items()))
            await with_history(
                Settings(postgres=service, keys_postgres=keys, master_key_file=key)
            )
            yield f"--config={config}"
