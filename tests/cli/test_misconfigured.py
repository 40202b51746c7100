"""A service that can end no search well says so: at its start, on /readyz, in its log."""

from itertools import takewhile
from pathlib import Path

import msgspec
import pytest

from cli.command import ran
from harness.served import Served


@pytest.mark.slow
def test_without_a_people_source_the_start_readyz_log_and_caller_are_reported(
    tmp_path: Path,
) -> None:
    # The bundled directory needs no network.
    bundled = {"CS_BRAND_SOURCES": "directory"}
    with Served(tmp_path / "data", settings=bundled, sandbox=False) as service:
        ready = service.ready_answer()
        called = {"CS_API_KEY": service.new_key()["key"], "CS_URL": service.base_url}
        asked = ran("search", "Nike", **called)
        as_json = ran("search", "Nike", "--json", **called)

    missing = "no source can be asked; directory: the directory is empty"
    assert f"cs: people_sources: {missing}" in service.output
    assert "; searxng: set searxng_url" in service.output
    at_start = takewhile(lambda line: not line.startswith("serving "), service.lines)
    logged = [msgspec.json.decode(line) for line in at_start if line.startswith("{")]
    (line,) = [line for line in logged if line["event"] == "misconfigured"]
    assert (line["level"], line["name"]) == ("error", "people_sources")
    assert ready.status_code == 503
    assert ready.json()["misconfigured"]["people_sources"].startswith(missing)
    found = as_json.rows[0]
    assert (found["status"], found["reason"], found["charged"]) == ("failed", "error", False)
    assert found["cached"] is False, "and it is never reused"
    assert "try again" not in asked.out
    assert "operator" in asked.out
