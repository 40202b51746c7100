"""Roles that end are started again, ever more slowly if they keep ending."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.service_process import ServiceProcess
from system.cluster.supervising import Supervisor

pytestmark = pytest.mark.slow


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def role(tmp_path: Path) -> Iterator[ServiceProcess]:
    """A command that runs until it is ended: it serves a sandbox on a folder of its own."""
    data = tmp_path / "data"
    words = ["serve", "--sandbox", "--port=0", "--admin-port=0", f"--data-dir={data}"]
    clean = {k: v for k, v in os.environ.items() if not k.startswith("CS_")}
    role = ServiceProcess(
        "serve-1", words, clean, tmp_path / "log", ready=re.compile("serving")
    )
    yield role
    role.end()


@pytest.fixture
def refused(tmp_path: Path) -> ServiceProcess:
    """A command that ends at once, every time."""
    return ServiceProcess("bad-1", ["no-such-command"], dict(os.environ), tmp_path / "log")


def test_a_killed_role_is_started_again_a_second_later(role: ServiceProcess) -> None:
    clock, told = Clock(), list[str]()
    supervisor = Supervisor({"serve-1": role}, told.append, now=clock)
    role.start()
    role.wait_ready()
    supervisor.look()
    assert told == []

    role.kill()
    supervisor.look()
    clock.now = 0.9
    supervisor.look()
    assert told == ["serve-1 has ended (SIGKILL); again in 1 s"]
    clock.now = 1.0
    supervisor.look()
    role.wait_ready()

    assert told[1:] == [f"serve-1 is started again as process {role.pid}"]
    assert role.starts == 2


def test_a_role_that_keeps_ending_is_started_ever_more_slowly_and_says_why(
    refused: ServiceProcess,
) -> None:
    clock, told = Clock(), list[str]()
    supervisor = Supervisor({"bad-1": refused}, told.append, now=clock)
    refused.start()

    waits = []
    for _ in range(7):
        refused.wait()
        supervisor.look()
        waits.append(float(told[-1].rpartition("again in ")[2].removesuffix(" s")))
        clock.now += waits[-1]
        supervisor.look()
    refused.wait()

    assert waits == [1, 2, 4, 8, 16, 30, 30]
    assert "no-such-command" in told[0]
