"""What `cs sandbox run` writes for the roles of its world."""

from pathlib import Path

import msgspec

from cs.assembly.sandbox_world import with_played_providers
from cs.cli import sandbox
from cs.sandbox import ADAPTERS, KEY
from cs.settings import load


def test_roles_read_where_the_world_and_its_providers_are(tmp_path: Path) -> None:
    chosen = load(environment={"CS_SOURCES__PDL__RECORDS": "2"})
    pointed = msgspec.structs.replace(
        chosen,
        smtp_port=2525,
        plugins=with_played_providers(chosen.plugins, "http://127.0.0.9:7000"),
    )
    file = tmp_path / "world.toml"

    sandbox.write_settings(file, chosen, pointed, providers=True)
    read = load(file, environment={})

    assert read.smtp_port == 2525
    assert read.plugins.sources["pdl"]["records"] == 2
    for section, names in ADAPTERS.items():
        for name, end in names.items():
            table = getattr(read.plugins, section)[name]
            assert (table["url"], table["key"]) == (f"http://127.0.0.9:7000/{name}{end}", KEY)
