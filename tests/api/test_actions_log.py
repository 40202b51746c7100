"""What an operator does leaves a line in the service's log: who did it, but no other name."""

import json
from pathlib import Path

import pytest

from harness.served import served


@pytest.mark.slow
def test_each_act_is_a_line(tmp_path: Path) -> None:
    with served(tmp_path / "data") as service:

        def cs(*words: str) -> list[dict[str, str]]:
            found = service.command(*words, "--json")
            return [json.loads(line) for line in found.splitlines()]

        (new,) = cs("keys", "create", "--label=Jane Doe of Acme")
        with service.client(new) as client:
            done = client.post("/contacts", json={"brand": "Veltrana", "wait": True}).json()
        address = next(each["email"] for each in done["contacts"] if each["email"])
        for words in (
            ("keys", "rotate", new["id"]),
            ("keys", "grant", new["id"], "-3"),
            ("pause",),
            ("pause",),
            ("resume",),
            ("brands", "forget", "Veltrana"),
            ("people", "erase", f"--email={address}"),
            ("keys", "revoke", new["id"]),
        ):
            cs(*words)
        (by,) = {row["by"] for row in cs("log", "trail") if row["what"] == "api_paused"}
        while not any('"key_revoked"' in line for line in service.lines):
            assert service.runs
            service.ready_answer()

    lines = [json.loads(line) for line in service.lines if line.startswith("{")]
    acts = [line for line in lines if "by" in line]
    assert [line.pop("event") for line in acts] == [
        "key_issued",
        "key_rotated",
        "quota_granted",
        "api_paused",
        "api_resumed",
        "brand_forgotten",
        "person_suppressed",
        "person_erased",
        "key_revoked",
    ]
    assert {line.pop("timestamp")[:2] for line in acts} == {"20"}
    common = {"by": by, "level": "info"}
    assert acts[0] == acts[1] == acts[8] == {"key": new["id"]} | common
    assert acts[2] == {"key": new["id"], "units": -3} | common
    assert acts[3] == acts[4] == acts[6] == acts[7] == common
    assert acts[5].keys() == {"brand"} | common.keys()
    assert "jane" not in str(acts).lower()
