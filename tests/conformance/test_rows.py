"""Every row has a test, and the suite needs nothing of the service to be imported."""

import os
import subprocess
import sys

import pytest

from conformance.rows import HERE, ROOT, coverage
from conformance.target import URLS


def test_every_row_is_shown_over_http_or_else_names_its_tests_in_process() -> None:
    """And what the tests and the list of tests in process name is there."""
    covered = coverage()

    assert covered.bare == covered.unknown == set()
    assert covered.missing == set()
    assert covered.over_http.keys() & covered.in_process.keys() == set()


#: Runs pytest where nothing of the service can be imported.
WITHOUT_IT = """
import sys

sys.modules["cs"] = None
import pytest

sys.exit(pytest.main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_deployment_is_tested_without_the_service_at_hand() -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CS_")}
    collected = subprocess.run(
        [
            *(sys.executable, "-c", WITHOUT_IT, "--collect-only", "-p", "no:cacheprovider"),
            *("--rootdir", str(ROOT), "--confcutdir", str(HERE), str(HERE)),
        ],
        cwd=ROOT,
        env=clean | {URLS: "http://127.0.0.1:1/v1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert collected.returncode == 0, collected.stdout
