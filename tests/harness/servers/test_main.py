"""`python -m harness.servers` as a person runs it."""

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import asyncpg
import pytest

SERVERS = [sys.executable, "-m", "harness.servers"]
HERE = Path(__file__).parents[2]


async def ask(dsn: str) -> int:
    connection = await asyncpg.connect(dsn)
    try:
        one: int = await connection.fetchval("SELECT 1")
    finally:
        await connection.close()
    return one


def test_help_says_where_things_come_from_and_how_tests_use_them() -> None:
    told = subprocess.run(
        [*SERVERS, "--help"], cwd=HERE, capture_output=True, text=True, check=True
    )

    for word in ("CS_KAFKA_CACHE", "sha256", "python -m harness.servers up", "pytest"):
        assert word in told.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("kafka")
def test_both_servers_are_up_until_a_signal_and_leave_nothing() -> None:
    command = subprocess.Popen(
        [*SERVERS, "up"],
        cwd=HERE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    with command:
        assert command.stdout is not None
        assert command.stderr is not None
        try:
            postgres = command.stdout.readline().removeprefix("export CS_TEST_POSTGRES=")
            kafka = command.stdout.readline()
            up = command.stderr.readline()
            answer = asyncio.run(ask(postgres.strip()))
        finally:
            command.terminate()
            said = command.stderr.read()
    folder = re.search(rf"in ({tempfile.gettempdir()}\S+);", up)

    assert re.fullmatch(r"export CS_TEST_KAFKA=127\.0\.0\.1:\d+\n", kafka)
    assert answer == 1
    assert command.returncode == 0, said
    assert folder is not None
    assert not Path(folder[1]).exists()
