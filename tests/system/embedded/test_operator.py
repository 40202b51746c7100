"""What an operator does beside a running service, and what the client commands tell of one."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from cli.command import Ran, ran
from system.cluster.fixtures import Service

pytestmark = pytest.mark.slow


def keys(service: Service, *words: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(service.command("keys", *words, "--json"))
    return told


def status_of(service: Service, key: dict[str, Any], brand: str = "Veltrana") -> int:
    with service.client(key) as client:
        return client.post("/contacts", json={"brand": brand}).status_code


def usage_status(service: Service, key: dict[str, Any]) -> int:
    with service.client(key) as client:
        return client.get("/usage").status_code


def within_a_second(condition: Callable[[], bool]) -> bool:
    give_up = time.monotonic() + 1
    while not condition():
        if time.monotonic() > give_up:
            return False
    return True


def test_a_running_service_sees_a_key_come_and_go(service: Service) -> None:
    key = keys(service, "create")

    assert within_a_second(lambda: usage_status(service, key) == 200)
    keys(service, "revoke", key["id"])
    assert within_a_second(lambda: usage_status(service, key) == 401)


def test_a_rotated_secret_takes_the_old_ones_place(service: Service) -> None:
    old = keys(service, "create")
    assert within_a_second(lambda: usage_status(service, old) == 200)

    new = keys(service, "rotate", old["id"])

    assert within_a_second(lambda: usage_status(service, new) == 200)
    assert within_a_second(lambda: usage_status(service, old) == 401)


def test_a_running_service_sees_quota_granted(service: Service) -> None:
    key = keys(service, "create", "--quota=0")
    assert within_a_second(lambda: status_of(service, key) == 402)

    keys(service, "grant", key["id"], "5")

    assert within_a_second(lambda: status_of(service, key) in {200, 202})


def test_a_running_service_sees_pause_and_resume(service: Service) -> None:
    def switch(to: str) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(service.command(to, "--json"))
        return told

    key = keys(service, "create")
    assert within_a_second(lambda: usage_status(service, key) == 200)

    try:
        assert switch("pause") == {"api": "paused", "changed": True}
        assert within_a_second(lambda: status_of(service, key) == 503)
        assert switch("pause") == {"api": "paused", "changed": False}
    finally:
        assert switch("resume") == {"api": "resumed", "changed": True}
    assert within_a_second(lambda: status_of(service, key) in {200, 202})


def test_the_client_commands_tell_what_a_server_says(service: Service) -> None:
    key = keys(service, "create", "--quota=1")["key"]
    at = (f"--url={service.urls[0]}", f"--key={key}")
    elsewhere = (f"--url={service.urls[-1]}", f"--key={key}")

    searched = ran("search", "Ossowen Skincare", "--json", *at)
    assert (searched.code, searched.rows[0]["status"]) == (0, "done")
    found = searched.rows[0]["id"]
    assert ran("get", found, "--json", *elsewhere).rows == searched.rows
    assert ran("usage", *elsewhere).out == "used 1 of 1, 0 left\n"
    assert ran("search", "Veltrana", *elsewhere).told(5).startswith("quota_exhausted: ")
    assert ran("get", "srch_nothing", *at).told().startswith("not_found: ")
    assert ran("get", "../usage", *at).told().startswith("not_found: ")
    assert ran("search", "a", *at).told().startswith("invalid_request: ")
    wrong = (f"--url={service.urls[0]}", "--key=cs_live_wrong")
    assert ran("usage", *wrong).told().startswith("unauthorized: this is no API key")
    root = (f"--url={service.urls[0].removesuffix('/v1')}", f"--key={key}")
    assert ran("usage", *root).code == 1


def test_a_failed_search_says_so_by_its_exit_code(service: Service) -> None:
    key = keys(service, "create")["key"]

    failed: Ran = ran(
        "search", "Nowhere Known Trading", f"--url={service.urls[0]}", f"--key={key}"
    )

    assert failed.code == 3
    assert "no_linkedin: the company could not be pinned down" in failed.out
