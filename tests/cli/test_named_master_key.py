"""`master_key_file` of a service in one process: a master key apart from its data."""

import json
from pathlib import Path

import pytest

from cli.command import Here
from harness.served import served


def key_in(path: Path, key: bytes = b"m" * 32) -> Path:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_bytes(key)
    path.chmod(0o400)
    return path


def logged_at_start(folder: Path, named: Path) -> list[dict[str, object]]:
    """Start the service and end it; return what it logged of two master keys."""
    with served(folder, CS_MASTER_KEY_FILE=str(named)) as service:
        lines = [json.loads(line) for line in service.lines if line.startswith("{")]
    return [line for line in lines if line["event"] == "two_master_keys"]


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A master key in a place apart, which the settings name."""
    path = key_in(tmp_path / "apart" / "master_key")
    monkeypatch.setenv("CS_MASTER_KEY_FILE", str(path))
    return path


def test_the_key_is_read_there_and_nothing_is_written_next_to_it(
    here: Here, named: Path, folder: Path
) -> None:
    assert not (folder / "master.key").exists()
    assert logged_at_start(folder, named) == []
    assert here("keys", "list", "--json", f"--data-dir={folder}").rows[0]["label"] == "first"
    (shown,) = here("master-key", "show", "--json", f"--data-dir={folder}").rows
    assert (len(shown["in_use"]), shown["older"]) == (8, [])
    assert [path.name for path in named.parent.iterdir()] == ["master_key"]
    assert (named.read_bytes(), named.stat().st_mode & 0o777) == (b"m" * 32, 0o400)


def test_without_the_setting_the_folder_is_not_begun_afresh(
    here: Here, named: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CS_MASTER_KEY_FILE")

    message = here("keys", "list", f"--data-dir={folder}").error()

    assert message.startswith(f"{folder / 'master.key'} is missing next to the other data")
    assert "name it with master_key_file if it lies elsewhere" in message
    assert named.exists()


def test_a_key_that_is_not_there_is_reported_and_not_made(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = tmp_path / "nowhere"
    monkeypatch.setenv("CS_MASTER_KEY_FILE", str(missing))

    message = here("keys", "create", "--label=a", "--quota=1", f"--data-dir={tmp_path / 'new'}")

    assert message.error() == (
        f"master_key_file: {missing} cannot be read: No such file or directory; "
        f"make one with: (umask 077; head -c 32 /dev/urandom > {missing})"
    )
    assert here("config", "check").error(2).startswith(f"master_key_file: {missing} cannot")
    assert not missing.exists()


def test_with_two_keys_it_is_said_which_is_used(
    here: Here, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = folder / "master.key"
    same = key_in(tmp_path / "same", beside.read_bytes())
    monkeypatch.setenv("CS_MASTER_KEY_FILE", str(same))
    monkeypatch.setenv("CS_DATA_DIR", str(folder))

    (line,) = logged_at_start(folder, same)
    assert (line["used"], line["unused"]) == (str(same), str(beside))
    (checked,) = here("config", "check", "--json").rows
    assert (
        f"{beside} is not used: master_key_file names another; move it away"
        in (checked["advice"])
    )

    other = key_in(tmp_path / "other")
    monkeypatch.setenv("CS_MASTER_KEY_FILE", str(other))
    message = here("keys", "list").error()
    assert "was made with another master key" in message
    assert f"It was given {other}, as master_key_file says; {beside} is not used" in message


@pytest.mark.usefixtures("named")
def test_it_is_changed_by_naming_the_next_one(
    here: Here, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CS_DATA_DIR", str(folder))
    assert here("master-key", "rotate").error(2).startswith("next_master_key_file: ")
    before = here("master-key", "show", "--json").rows[0]["in_use"]

    following = key_in(tmp_path / "next_key", b"n" * 32)
    monkeypatch.setenv("CS_NEXT_MASTER_KEY_FILE", str(following))
    (rotated,) = here("master-key", "rotate", "--json").rows
    assert (rotated["version"] != before, rotated["kept"]) == (True, None)
    assert here("keys", "list", "--json").rows[0]["label"] == "first"

    monkeypatch.setenv("CS_MASTER_KEY_FILE", str(following))
    monkeypatch.delenv("CS_NEXT_MASTER_KEY_FILE")
    assert here("keys", "list", "--json").rows[0]["label"] == "first"
    assert here("master-key", "show", "--json").rows[0]["in_use"] == rotated["version"]
    assert not list(folder.glob("master.key*"))
    monkeypatch.delenv("CS_MASTER_KEY_FILE")
    monkeypatch.setenv("CS_NEXT_MASTER_KEY_FILE", str(following))
    assert here("keys", "list").error(2).endswith("name the one in use, too: master_key_file")


def test_a_backup_is_restored_with_the_key_where_it_is(
    here: Here, named: Path, folder: Path, tmp_path: Path
) -> None:
    copy, new = tmp_path / "copy", tmp_path / "new"
    assert here("backup", str(copy), f"--data-dir={folder}").code == 0

    assert here("restore", str(copy), f"--data-dir={new}").code == 0

    assert here("keys", "list", "--json", f"--data-dir={new}").rows[0]["label"] == "first"
    assert not list(new.glob("master.key*"))
    named.unlink()
    message = here("restore", str(copy), f"--data-dir={tmp_path / 'third'}").error()
    assert message.startswith(f"master_key_file: there is no master key in {named}")
