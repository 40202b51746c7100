"""A client made of the description compiles, and searches as a caller would."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.on_port import memory_service
from openapi.generated_python import CLIENT, generated_client

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with generated_client(tmp_path_factory.mktemp("client")) as made:
        yield made


@pytest.fixture
def client(package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The package, imported; the names of its modules are free again afterwards."""
    monkeypatch.syspath_prepend(package.parent)
    yield importlib.import_module(CLIENT)
    for name in [name for name in sys.modules if name.split(".")[0] == CLIENT]:
        del sys.modules[name]


def _part(name: str) -> Any:
    return importlib.import_module(f"{CLIENT}.{name}")


def test_its_types_fit_together(package: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--no-warn-unused-ignores"),
            *("--config-file=", f"--cache-dir={tmp_path}", "--package", CLIENT),
        ],
        cwd=package.parent,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout


def test_it_searches_and_tells_the_states_apart(client: Any) -> None:
    find = _part("api.searches.find_contacts").sync
    models = _part("models")
    with memory_service(keys=1) as service:
        ours = client.AuthenticatedClient(service.base_url, service.keys[0])
        with ours as caller:
            done = find(client=caller, body=models.ContactsRequest(brand="Acme", wait=True))
            failed = find(
                client=caller, body=models.ContactsRequest(domain="no.test", wait=True)
            )
            running = find(client=caller, body=models.ContactsRequest(brand="Other"))
            again = _part("api.searches.get_search").sync(done.id, client=caller)
            usage = _part("api.usage.get_usage").sync(client=caller)

    assert isinstance(done, models.SearchDone)
    assert done.contacts[0].email_status == "verified"
    assert isinstance(failed, models.SearchFailed)
    assert failed.reason == models.Reason.NO_LINKEDIN
    assert isinstance(running, models.SearchRunning)
    assert running.retry_after == 5
    assert again.id == done.id
    assert usage.used == 1


def test_it_reads_a_refusal(client: Any) -> None:
    find = _part("api.searches.find_contacts").sync_detailed
    models = _part("models")
    with (
        memory_service(keys=1) as service,
        client.AuthenticatedClient(service.base_url, service.keys[0]) as caller,
    ):
        answer = find(client=caller, body=models.ContactsRequest())

    assert answer.status_code == 400
    assert answer.parsed.error.code == "invalid_request"
