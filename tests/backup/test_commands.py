"""`cs backup` next to a running service, and `cs restore`."""

from pathlib import Path

import msgspec
import pytest

from cli.command import ran
from harness.served import served

pytestmark = pytest.mark.slow


def test_a_served_folder_is_backed_up_and_brought_back(tmp_path: Path) -> None:
    new = tmp_path / "new"
    with served(tmp_path / "data") as service:
        key = msgspec.json.decode(service.command("keys", "create", "--label=kept", "--json"))
        made = ran(
            *("backup", str(tmp_path / "log"), f"--keys={tmp_path / 'keys'}"),
            *("--json", f"--data-dir={service.folder}"),
        )
        refused = ran("restore", str(tmp_path / "log"), f"--data-dir={service.folder}")

    assert (made.code, made.rows[0]["world"]) == (0, "sandbox")
    assert refused.error().startswith("another service")
    restore = ("restore", str(tmp_path / "log"), f"--keys={tmp_path / 'keys'}")
    assert "--master-key" in ran(*restore, f"--data-dir={new}").error()

    master = tmp_path / "data" / "master.key"
    back = ran(*restore, f"--master-key={master}", f"--data-dir={new}")

    assert back.code == 0, back
    listed = ran("keys", "list", "--json", f"--data-dir={new}").rows
    assert [(row["id"], row["label"]) for row in listed] == [(key["id"], "kept")]


def test_what_is_no_backup_is_reported(tmp_path: Path) -> None:
    message = ran("restore", str(tmp_path), f"--data-dir={tmp_path / 'new'}").error()

    assert "it is no backup" in message
