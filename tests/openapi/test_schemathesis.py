"""Made-up calls, right and wrong ones, are all answered as the description says.

The copy of the description that judges is closed: an answer may have no field that is not
described.  What is sent may, as unknown fields of a request are ignored.
"""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path

import pytest

from api.openapi_document import DOCUMENT, Json, closed
from harness.on_port import memory_service
from harness.servers.missing import Missing

pytestmark = pytest.mark.slow
TESTS = Path(__file__).parents[1]
EXAMPLES = 25


def _closed_document() -> Json:
    document = deepcopy(DOCUMENT)
    schemas = document["components"]["schemas"]
    open_to_callers = schemas["ContactsRequest"]
    document["components"]["schemas"] = closed(schemas) | {"ContactsRequest": open_to_callers}
    return document


@contextmanager
def _schemathesis(document: Json, folder: Path) -> Iterator[tuple[int, str]]:
    """Yield the exit code of schemathesis, and what it printed.

    Raises:
        Missing: It is not installed.
    """
    if importlib.util.find_spec("schemathesis") is None:
        raise Missing("schemathesis is not installed")
    (folder / "closed.json").write_text(json.dumps(document))
    with memory_service(keys=3000) as service:
        (folder / "keys").write_text("\n".join(service.keys))
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", "closed.json"),
                *("--url", service.base_url, "--workers", "1"),
                *("--max-examples", str(EXAMPLES), "--seed", "1", "--no-color"),
                *("--generation-database", "none", "--continue-on-failure"),
            ],
            cwd=folder,
            env=os.environ
            | {
                "CS_FUZZ_KEYS": str(folder / "keys"),
                "SCHEMATHESIS_HOOKS": "openapi.schemathesis_hooks",
                "PYTHONPATH": str(TESTS),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    yield done.returncode, done.stdout


def test_the_running_service_answers_as_described(tmp_path: Path) -> None:
    with _schemathesis(_closed_document(), tmp_path) as (code, output):
        assert code == 0, output
        assert "4 selected / 4 total" in output
        for phase in ("Examples", "Coverage", "Fuzzing", "Stateful"):
            assert f"{phase} (in" in output, output
