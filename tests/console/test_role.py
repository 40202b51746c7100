"""``cs console``, the role of a service over several processes, on PostgreSQL."""

import asyncio
import re
from pathlib import Path

import httpx
import pytest

from cli.command import environment, ran
from harness.service_process import ServiceProcess
from system.older_keys.forms import on_new_databases
from system.older_keys.test_older_keys import BEFORE, gate, outside

pytestmark = pytest.mark.slow

_RUNS = re.compile(r"console runs, health at (\S+)/readyz")


def look(settings: dict[str, str], token: str, search: str) -> dict[str, httpx.Response]:
    """Run the role, sign in as ada with *token*, and return the pages."""
    words = ("console", "--admin-port=0")
    role = ServiceProcess("console", words, environment(**settings), ready=_RUNS)
    try:
        role.start()
        role.wait_ready()
        assert role.ready_line is not None
        admin = role.ready_line[1]
        with httpx.Client(base_url=admin, trust_env=False, timeout=30) as client:
            before = client.get("/console/")
            who = {"name": "ada", "token": token}
            pages = {
                "before": before,
                "sign-in": client.post("/console/sign-in", data=who),
                "overview": client.get("/console/"),
                "search": client.get(f"/console/searches/{search}"),
                "events": client.get("/console/events"),
                "ready": client.get("/readyz"),
            }
        assert role.stop() == 0, role.output
    finally:
        role.kill()
    return pages


async def test_an_operator_signs_in_and_sees_a_search(tmp_path: Path, postgres: str) -> None:
    async with on_new_databases(postgres, tmp_path) as form:
        async with form.service(outside(gate())) as service:
            found = (await service.search(await service.new_key(), brand=BEFORE)).json()
        settings = form.environment | {"CS_INSECURE_CONSOLE": "true"}
        created = await asyncio.to_thread(
            ran, "operators", "create", "ada", "--json", **settings
        )
        pages = await asyncio.to_thread(look, settings, created.rows[0]["token"], found["id"])

    assert pages["before"].status_code == 303
    assert (pages["sign-in"].status_code, pages["overview"].status_code) == (303, 200)
    assert "ada (viewer)" in pages["overview"].text
    assert "World live" in pages["overview"].text
    assert "calls from elsewhere without TLS" in pages["overview"].text
    assert pages["ready"].json()["insecure"] == {
        "console": ["calls from elsewhere without TLS"]
    }
    assert "contact-discovery" in pages["search"].text
    assert not [p for p in found["contacts"] if p["full_name"] in pages["search"].text]
    assert "key.search-settled.v1" in pages["events"].text
