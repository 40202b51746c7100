"""`cs search --file` against the service, killed in the middle: each row is charged once."""

import csv
from pathlib import Path

import msgspec
import pytest

from cli.command import ran, started
from client.faulty_proxy import faulty_proxy
from harness.served import served

#: Fewer than a minute allows; nobody knows the second.
BRANDS = ("Veltrana", "Nowhere Known Trading", "Ivorene")

pytestmark = pytest.mark.slow


def test_a_list_that_is_killed_goes_on_and_is_charged_once(tmp_path: Path) -> None:
    brands = tmp_path / "brands.csv"
    brands.write_text("brand\n" + "\n".join(BRANDS))
    with (
        served(tmp_path / "data") as service,
        faulty_proxy(service.base_url, seed=1, rate=0) as proxy,
    ):
        key = service.new_key()
        words = ("search", f"--file={brands}", f"--url={proxy.url}")
        with started(*words, CS_API_KEY=key["key"]) as process:
            for _ in range(2):
                assert proxy.passed.acquire(timeout=60)
            process.kill()
        ended = ran(*words, CS_API_KEY=key["key"])
        shown = msgspec.json.decode(service.command("keys", "show", key["id"], "--json"))

    assert ended.code == 3, ended
    assert ended.out.startswith("2 done, 1 failed, 0 left; 2 charged: ")
    assert (shown["used"], shown["searches"]) == (2, 3)
    with (tmp_path / "brands.results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["asked_brand"] for row in rows} == set(BRANDS)
    assert all("@" in row["email"] for row in rows if row["email_status"] == "verified")
