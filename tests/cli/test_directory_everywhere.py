"""`cs directory` in databases: imported, found by a stage, exported, erased."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cli.command import Here
from harness.servers.databases import new_database

pytestmark = pytest.mark.slow

JANE = "https://www.linkedin.com/in/jane-roe"
FILE = f"""name,title,company,linkedin,email
Jane Roe,Head of Social,Acme,{JANE},jane@acme.test
Jo Ode,CMO,Acme,https://www.linkedin.com/in/jo-ode,
"""


@pytest.fixture
async def at(postgres: str, tmp_path: Path, here: Here) -> AsyncIterator[str]:
    """The option that names the settings of new databases."""
    settings = dict.fromkeys(("master_key_file", "stages_key_file"), "")
    for name in settings:
        key = tmp_path / name
        key.write_bytes(os.urandom(32))
        key.chmod(0o600)
        settings[name] = str(key)
    async with (
        new_database(postgres) as service,
        new_database(postgres) as keys,
        new_database(postgres) as stages,
    ):
        settings |= {"postgres": service, "keys_postgres": keys, "stages_postgres": stages}
        where = (f"--service={service}", f"--keys={keys}", f"--stages={stages}")
        assert (await asyncio.to_thread(here, "db", "migrate", *where)).code == 0
        config = tmp_path / "cs.toml"
        config.write_text("".join(f"{name} = {at!r}\n" for name, at in settings.items()))
        yield f"--config={config}"


def test_people_are_imported_found_exported_and_erased(
    at: str, here: Here, tmp_path: Path
) -> None:
    file, profiles = tmp_path / "people.csv", tmp_path / "profiles.csv"
    file.write_text(FILE)
    profiles.write_text(f"name,company,linkedin\nJane Roe,Acme,{JANE}\n")
    by_email = ("--email", "jane@acme.test")

    (done,) = here("directory", "import", str(file), "--json", at).rows
    (again,) = here("directory", "import", str(file), "--json", at).rows
    listed = here("directory", "list", "--brand", "acme", "--json", at).rows
    tried = here("people-source", "try", "directory", "Acme", "--json", at).rows
    (held,) = here("people", "export", *by_email, "--json", at).rows
    (foreseen,) = here("people", "erase", *by_email, "--dry-run", "--json", at).rows
    message = here("people", "erase", *by_email, at, width=200).out
    (later,) = here("directory", "import", str(file), "--json", at).rows
    (by_profile,) = here("directory", "import", str(profiles), "--json", at).rows
    (gone,) = here("people", "export", *by_email, "--json", at).rows
    (status,) = here("directory", "status", "--json", at).rows

    assert (done["new"], again["unchanged"], len(listed)) == (2, 2, 2)
    assert [each["full_name"] for each in tried[0]["people"]] == ["Jane Roe", "Jo Ode"]
    assert held["known"]
    assert [row["profile"] for row in held["directory"]] == [JANE]
    assert foreseen["directory_rows"] == 1
    assert "directory rows  1" in message
    assert (later["suppressed"], later["unchanged"]) == (1, 1)
    assert by_profile["suppressed"] == 1, "as the directory knew whose address it is"
    assert (gone["known"], gone["directory"], gone["suppressed"]) == (False, [], True)
    assert status["people"] == 1
