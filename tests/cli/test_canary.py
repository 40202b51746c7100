"""The canary: the operator's own search, through the front door, at an interval."""

import re
import time
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from cli.command import Here, ran
from harness.served import Served, served

#: Of the sandbox: a person is found there.
BRAND = "Veltrana"


def key_file(service: Served, label: str = "canary") -> str:
    """Return a file with a new key called *label*, of the data of *service*."""
    where = f"--data-dir={service.folder}"
    (key,) = ran("keys", "create", f"--label={label}", "--json", where).rows
    file = service.folder.with_name(f"{label}.key")
    file.touch(0o600)
    file.write_text(f"{key['key']}\n")
    return str(file)


def searched(service: Served, settings: Mapping[str, str]) -> tuple[str, str]:
    """Start *service* again with *settings*; return outcome and reuse of its first search."""
    service.stop()
    service.environment = {**service.environment, **settings}
    service.start()
    count = re.compile(r'cs_canary_seconds_count\{cached="(.+)",outcome="(.+)"\} 1.0')
    until = time.monotonic() + 30
    with httpx.Client(base_url=service.admin_url, trust_env=False) as client:
        while not (found := count.search(page := client.get("/metrics").text)):
            assert time.monotonic() < until, page
    (at,) = re.findall(r"(?m)^cs_canary_success_timestamp_seconds (\S+)", page)
    assert 0 <= time.time() - float(at) < 60, "of a search, or of the start"
    return found[2], found[1]


@pytest.mark.slow
def test_it_searches_as_a_caller_and_is_in_metrics_and_in_no_report(tmp_path: Path) -> None:
    listed = tmp_path / "list.csv"
    listed.write_text("brand\nNuvarro\n")
    with served(tmp_path / "data") as service:
        with service.client(service.new_key()) as client:
            client.post("/contacts", json={"brand": "Dunmorrow", "wait": True})
        settings = {"CS_CANARY_KEY_FILE": key_file(service), "CS_CANARY_BRAND": BRAND}

        assert searched(service, settings) == ("done", "no")
        assert searched(service, settings) == ("done", "yes")
        live = settings | {"CS_CANARY_LIVE": "true"}
        assert searched(service, live) == ("done", "no")
        elsewhere = live | {"CS_CANARY_URL": "http://127.0.0.1:1/v1"}
        assert searched(service, elsewhere) == ("unreachable", "no")
        assert '"event": "canary_failed"' in service.output
        mine = settings | {"CS_CANARY_KEY_FILE": key_file(service, "mine")}
        assert searched(service, mine) == ("wrong_label", "no")

        (used,) = [
            row["used"]
            for row in ran("keys", "list", "--json", f"--data-dir={service.folder}").rows
            if row["label"] == "canary"
        ]
        (report,) = ran("report", "--json", f"--data-dir={service.folder}").rows
        words = ("search", f"--file={listed}", "--estimate", "--json")
        (estimate,) = ran(*words, f"--data-dir={service.folder}").rows
    assert used == 3, "it is charged as any other"
    (summary,) = report["figures"]["summary"]
    assert [summary[each] for each in ("searches_answered", "charged", "runs")] == [1, 0, 1]
    assert [row["brand"] for row in report["figures"]["by_brand"]] == ["Dunmorrow"]
    assert estimate["runs"] == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"BRAND": BRAND}, "canary_brand: needs canary_key_file"),
        ({"KEY_FILE": "key"}, "canary_key_file: needs canary_brand"),
        ({"BRAND": BRAND, "KEY_FILE": "key"}, "canary_key_file: key: this is no API key of"),
        ({"BRAND": BRAND, "KEY_FILE": "none"}, "canary_key_file: none cannot be read: No such"),
        ({"BRAND": "a@b.example"}, "canary_brand: a brand of 2 to 120 characters"),
        ({"EVERY_S": "60"}, "canary_every_s: a number from 1440 to 86400"),
    ],
)
def test_what_makes_no_canary_is_refused_by_check_and_service(
    here: Here,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    settings: dict[str, str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "key"
    file.touch(0o600)
    file.write_text("cs_live_no")
    for name, value in settings.items():
        monkeypatch.setenv(f"CS_CANARY_{name}", value)

    for command in (["config", "check"], ["serve", "--port=0"]):
        assert message in here(*command, f"--data-dir={tmp_path / 'data'}").error(2)
