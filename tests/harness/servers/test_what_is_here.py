"""A run says at its start what it talks to, and at its end what it could not try."""

from pathlib import Path

import pytest

from harness.servers.test_left_running import run_of
from harness.servers.what_is_here import real_parts

SKIPS = """
import pytest
@pytest.mark.parametrize("n", range(3))
def test_it(n):
    pytest.skip("no moon:\\nwait for the night")
"""


def test_what_is_missing_is_named_in_the_same_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CS_TEST_BROWSER", "no-such-command")
    monkeypatch.setenv("CS_TEST_KAFKA", "127.0.0.1:9092")
    monkeypatch.delenv("CS_TEST_DEMAND_SERVERS", raising=False)

    said = real_parts()

    assert said.count("\n") == 0
    assert "CS_TEST_KAFKA" in said
    missing = said.partition("; not here, so that its tests are skipped and counted: ")[2]
    assert "browser" in missing.split(", ")
    assert "Java" not in missing


def test_where_every_part_is_demanded_it_says_that_its_tests_fail(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CS_TEST_BROWSER", "no-such-command")
    monkeypatch.setenv("CS_TEST_DEMAND_SERVERS", "1")

    missing = real_parts().partition("; not here, so that its tests fail: ")[2]
    assert "browser" in missing.split(", ")


LACKS = """
import pytest
from harness.servers.missing import Missing
@pytest.fixture(scope="module")
def moon():
    raise Missing("no moon")
def test_a_fixture_lacks_it(moon): pass
def test_a_fixture_lacks_it_again(moon): pass
def test_it_lacks_it_itself():
    raise Missing("no moon")
async def test_it_lacks_it_and_awaits():
    raise Missing("no moon")
"""


@pytest.mark.slow
@pytest.mark.parametrize("demanded", [False, True])
def test_whatever_lacks_a_part_is_skipped_or_fails_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, demanded: bool
) -> None:
    monkeypatch.setenv("CS_TEST_DEMAND_SERVERS", "1" if demanded else "")

    ran = run_of(tmp_path, LACKS, "-p", "harness.servers.what_is_here", "--asyncio-mode=auto")

    if demanded:
        assert "2 failed, 2 errors" in ran.stdout
    else:
        assert "4 skipped: no moon\n" in ran.stdout
        assert ran.returncode == 0


@pytest.mark.slow
def test_skipped_tests_are_counted_by_their_reason(tmp_path: Path) -> None:
    ran = run_of(tmp_path, SKIPS, "-p", "harness.servers.what_is_here")

    assert ran.stdout.count("Real parts: ") == 1
    assert "3 skipped: no moon: | wait for the night" in ran.stdout
