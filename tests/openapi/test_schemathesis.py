"""Made-up calls, right and wrong ones, are all answered as the description says.

The copy of the description that judges is closed: an answer may have no field that is not
described.  What is sent may, as unknown fields of a request are ignored.
"""

import importlib.util
import json
import os
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import pytest

from api.openapi_document import DOCUMENT, Json, closed
from harness.on_port import memory_service
from harness.servers.missing import Missing

pytestmark = pytest.mark.slow
TESTS = Path(__file__).parents[1]
EXAMPLES = 10


def _closed_document() -> Json:
    document = deepcopy(DOCUMENT)
    schemas = document["components"]["schemas"]
    open_to_callers = schemas["ContactsRequest"]
    document["components"]["schemas"] = closed(schemas) | {"ContactsRequest": open_to_callers}
    return document


def test_the_running_service_answers_as_described(tmp_path: Path) -> None:
    if importlib.util.find_spec("schemathesis") is None:
        raise Missing("schemathesis is not installed")
    (tmp_path / "closed.json").write_text(json.dumps(_closed_document()))
    with memory_service(keys=3000) as service:
        (tmp_path / "keys").write_text("\n".join(service.keys))
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", "closed.json"),
                *("--url", service.base_url, "--workers", "1"),
                *("--max-examples", str(EXAMPLES), "--seed", "1", "--no-color"),
                *("--generation-database", "none", "--continue-on-failure"),
            ],
            cwd=tmp_path,
            env=os.environ
            | {
                "CS_FUZZ_KEYS": str(tmp_path / "keys"),
                "SCHEMATHESIS_HOOKS": "openapi.schemathesis_hooks",
                "PYTHONPATH": str(TESTS),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    assert done.returncode == 0, done.stdout
    assert "4 selected / 4 total" in done.stdout
    for phase in ("Examples", "Coverage", "Fuzzing", "Stateful"):
        assert f"{phase} (in" in done.stdout, done.stdout
