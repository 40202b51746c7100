"""`cs sandbox run`: the settings that it writes for the roles of its world."""

import signal
from pathlib import Path

import pytest

from cli.command import Here, started
from cs.settings import load


@pytest.mark.slow
def test_roles_read_where_the_world_and_its_providers_are(
    here: Here, database: str, tmp_path: Path
) -> None:
    assert here("db", "migrate", f"--stages={database}").code == 0
    file = tmp_path / "world.toml"
    where = {"CS_STAGES_POSTGRES": database, "CS_SOURCES__PDL__RECORDS": "2"}

    with started("sandbox", "run", f"--write={file}", "--providers", **where) as world:
        assert world.stderr is not None
        while not (line := world.stderr.readline()).startswith("the world runs;"):
            assert line, "it ended"
        read = load(file, environment={})
        world.send_signal(signal.SIGTERM)
        assert world.wait(timeout=30) == 0

    assert read.smtp_port != 25
    assert read.plugins.sources["pdl"]["records"] == 2
    tables = {**read.plugins.sources, **read.plugins.verifiers}
    assert {"pdl", "hunter", "apollo", "kickbox", "zerobounce"} <= tables.keys()
    for name, table in tables.items():
        assert (f"/{name}" in table["url"], bool(table["key"])) == (True, True)
