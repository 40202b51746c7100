"""The suite notices what is broken: each broken server turns the test named for it red."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from conformance.broken_servers import BROKEN
from conformance.broken_service import SOUND, Broken, broken_service
from conformance.rows import HERE, ROOT
from conformance.target import URLS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broken]:
    with broken_service(tmp_path_factory.mktemp("broken")) as servers:
        yield servers


#: Runs pytest where nothing of the service can be imported.
WITHOUT_IT = """
import sys

sys.modules["cs"] = None
import pytest

sys.exit(pytest.main(sys.argv[1:]))
"""


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


def test_every_test_that_is_named_is_green_without_a_fault(broken: Broken) -> None:
    assert broken.red(SOUND, *sorted({server.test for server in BROKEN.values()})) == []


@pytest.mark.parametrize("server", BROKEN)
def test_a_broken_server_turns_its_test_red(broken: Broken, server: str) -> None:
    test = BROKEN[server].test

    assert any(red.startswith(test) for red in broken.red(server, test))
