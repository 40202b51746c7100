"""One module a role: it is in the table, and a process loads no other role than its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from cs.assembly import roles

FOLDER = Path(roles.__file__).parent
#: What more than one role uses.
SHARED = {"__init__", "running", "shared"}
ROLES = sorted({file.stem for file in FOLDER.glob("*.py")} - SHARED)
#: Packages that answer calls, speak to Kafka, or ask the outside world.
ANSWERS = {"cs.api"}
SPEAKS_KAFKA = {"aiokafka", "cs.bus.kafka.bus"}
ASKS = {"cs.assembly.plugins", "cs.outside.http", "cs.pipeline.verification", "dns", "httpx"}
#: The log, and what only those have who hold the master key.
HOLDS_KEYS = {
    "cs.eventlog.postgres",
    "cs.keystore.postgres",
    "cs.projections.postgres.views",
    "eventsourcing",
}
LOADS_NOTHING_OF = {
    "api": SPEAKS_KAFKA | ASKS,
    "relay": ANSWERS | ASKS,
    "process_manager": ANSWERS | ASKS,
    "project": ANSWERS | SPEAKS_KAFKA | ASKS,
    "stage": ANSWERS | HOLDS_KEYS,
}


def loaded_by(role: str) -> set[str]:
    code = f"import sys, cs.assembly.roles.{role}; print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    )
    return set(ended.stdout.split())


def test_the_table_names_every_role() -> None:
    table = (roles.__doc__ or "").split("===\n")[-2]
    rows = [line.split("``") for line in table.splitlines() if line.startswith("``cs ")]

    assert sorted(row[3] for row in rows) == ROLES
    for _, command, _, module, *_ in rows:
        assert command.split()[1] == module.replace("_", "-")


@pytest.mark.slow
@pytest.mark.parametrize("role", ROLES)
def test_a_role_loads_what_it_needs(role: str) -> None:
    loaded = loaded_by(role)

    assert {name for name in ROLES if f"cs.assembly.roles.{name}" in loaded} == {role}
    assert loaded & LOADS_NOTHING_OF[role] == set()
