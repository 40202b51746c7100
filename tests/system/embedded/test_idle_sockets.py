"""A service with few open files, and callers who connect and say nothing."""

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from cli.command import environment
from system.embedded.served import STARTED

pytestmark = pytest.mark.slow

DESCRIPTORS = 256
SILENT = 400
#: Each was asked in vain for 60 s before connections had a bound.
AT_ONCE_S = 5


@pytest.fixture
def urls(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Serve with few open files; yield where API and admin port are."""
    words = ["-m", "cs", "serve", "--sandbox", "--port=0", "--admin-port=0"]
    with subprocess.Popen(
        [
            *("sh", "-c", f'ulimit -n {DESCRIPTORS}; exec "$@"', "sh", sys.executable),
            *(*words, f"--data-dir={tmp_path / 'data'}"),
        ],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(COLUMNS="400", CS_LOG_LEVEL="error"),
    ) as process:
        assert process.stderr is not None
        try:
            started = STARTED.match(line := process.stderr.readline())
            assert started is not None, line
            yield started[1], re.sub("/readyz$", "", started[2])
        finally:
            process.terminate()
            said = process.stderr.read()
    assert "out of system resource" not in said


@pytest.mark.parametrize("flooded", ["api", "admin"])
def test_silent_callers_keep_nobody_from_being_answered(
    urls: tuple[str, str], flooded: str
) -> None:
    base_url, admin_url = urls
    at = urlsplit(base_url if flooded == "api" else admin_url)
    assert at.hostname is not None
    assert at.port is not None

    with ExitStack() as open_sockets:
        for _ in range(SILENT):
            open_sockets.enter_context(socket.create_connection((at.hostname, at.port), 5))
        health = httpx.get(f"{admin_url}/readyz", timeout=AT_ONCE_S)
        usage = httpx.get(f"{base_url}/usage", timeout=AT_ONCE_S)
        description = httpx.get(f"{base_url}/openapi.json", timeout=AT_ONCE_S)

    assert health.json()["ready"] is True
    assert (usage.status_code, description.status_code) == (401, 200)
