"""A service with few open files, and callers who connect and say nothing."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from harness.served import Served

pytestmark = pytest.mark.slow

DESCRIPTORS = 256
SILENT = 400
#: Each was asked in vain for 60 s before connections had a bound.
AT_ONCE_S = 5


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    """Serve with few open files."""
    few = ("sh", "-c", f'ulimit -n {DESCRIPTORS}; exec "$@"', "sh")
    with Served(tmp_path / "data", launcher=few) as service:
        yield service
    assert "out of system resource" not in service.output


@pytest.mark.parametrize("flooded", ["api", "admin"])
def test_silent_callers_keep_nobody_from_being_answered(service: Served, flooded: str) -> None:
    at = urlsplit(service.base_url if flooded == "api" else service.admin_url)
    assert at.hostname is not None
    assert at.port is not None

    with ExitStack() as open_sockets:
        for _ in range(SILENT):
            open_sockets.enter_context(socket.create_connection((at.hostname, at.port), 5))
        health = httpx.get(f"{service.admin_url}/readyz", timeout=AT_ONCE_S)
        usage = httpx.get(f"{service.base_url}/usage", timeout=AT_ONCE_S)
        description = httpx.get(f"{service.base_url}/openapi.json", timeout=AT_ONCE_S)

    assert health.json()["ready"] is True
    assert (usage.status_code, description.status_code) == (401, 200)
