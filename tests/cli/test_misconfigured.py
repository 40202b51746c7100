"""A service that can end no search well says so: at its start, on /readyz, in its log."""

from pathlib import Path

import httpx
import msgspec

from cli.command import ran, started
from cli.served import Served


def test_without_a_people_source_the_start_readyz_log_and_caller_are_told(
    tmp_path: Path,
) -> None:
    where = ("--port=0", "--admin-port=0", f"--data-dir={tmp_path / 'data'}")
    # The bundled directory needs no network.
    with started("serve", *where, CS_BRAND_SOURCES="directory") as process:
        service = Served(process, tmp_path / "data")
        try:
            service.wait_until_serving()
            ready = httpx.get(service.admin_url, trust_env=False)
            key = service.keys("create")
            asked = ran("search", "Nike", CS_API_KEY=key["key"], CS_URL=service.url)
            as_json = ran("search", "Nike", "--json", CS_API_KEY=key["key"], CS_URL=service.url)
        finally:
            process.terminate()
            process.communicate(timeout=30)

    missing = "nobody can be asked; searxng: set searxng_url"
    assert f"cs: people_sources: {missing}" in service.told
    lines = [msgspec.json.decode(line) for line in service.said if line.startswith("{")]
    (line,) = [line for line in lines if line["event"] == "misconfigured"]
    assert (line["level"], line["name"]) == ("error", "people_sources")
    assert ready.status_code == 503
    assert ready.json()["misconfigured"]["people_sources"].startswith(missing)
    found = as_json.rows[0]
    assert (found["status"], found["reason"], found["charged"]) == ("failed", "error", False)
    assert found["cached"] is False, "and it is never reused"
    assert "try again" not in asked.out
    assert "operator" in asked.out
