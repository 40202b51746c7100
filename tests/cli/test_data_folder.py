"""Data folders that cannot be used, and what is reported of them."""

from pathlib import Path

import pytest

from cli.command import Here


def keys_in(here: Here, folder: Path) -> list[str]:
    return [row["label"] for row in here("keys", "list", "--json", f"--data-dir={folder}").rows]


def told_of(here: Here, folder: Path) -> str:
    return here("keys", "list", f"--data-dir={folder}").error()


def harm(file: Path, damage: str) -> None:
    """Spoil *file* as disks and people do."""
    content = file.read_bytes()
    match damage:
        case "begin":
            file.write_bytes(b"no database at all")
        case "middle":
            file.write_bytes(content[:4096] + bytes(255 - b for b in content[4096:]))
        case "end":
            file.write_bytes(content[:6000])
        case _:
            file.unlink()
    for rest in file.parent.glob(f"{file.name}-*"):
        rest.unlink()


@pytest.mark.parametrize("command", [["keys", "list"], ["brands", "list"], ["pause"]])
def test_a_mistyped_folder_is_reported_and_not_made(
    tmp_path: Path, here: Here, command: list[str]
) -> None:
    folder = tmp_path / "mistyped"

    assert f"there is no data in {folder}" in here(*command, f"--data-dir={folder}").error()
    assert not folder.exists()


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path, here: Here) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "data"

    message = here("keys", "create", f"--data-dir={folder}").error()

    assert message.startswith(f"the data folder {folder} cannot be made: Not a directory")
    assert message.endswith("name another with --data-dir")


@pytest.mark.parametrize("file", ["log.db", "keys.db"])
@pytest.mark.parametrize("damage", ["begin", "middle", "end"])
def test_damaged_data_is_reported(folder: Path, here: Here, file: str, damage: str) -> None:
    harm(folder / file, damage)

    message = told_of(here, folder)

    assert message.startswith(f"the data in {folder} cannot be used: ")
    assert "bring it back from a backup" in message


@pytest.mark.parametrize("damage", ["begin", "middle", "end", "gone"])
def test_damaged_views_are_rebuilt(folder: Path, here: Here, damage: str) -> None:
    harm(folder / "views.db", damage)

    assert keys_in(here, folder) == ["first"]
    assert keys_in(here, folder) == ["first"]


@pytest.mark.parametrize("file", ["master.key", "keys.db"])
def test_a_lost_file_is_reported_and_not_rebuilt(folder: Path, here: Here, file: str) -> None:
    (folder / file).unlink()

    assert f"{folder / file} is missing next to the other data" in told_of(here, folder)
    assert not (folder / file).exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"k" * 32, "was made with another master key"),
        (b"short", "holds 5 bytes, not a 32-byte key"),
    ],
)
def test_a_wrong_master_key_is_reported(
    folder: Path, here: Here, content: bytes, message: str
) -> None:
    (folder / "master.key").write_bytes(content)

    assert message in told_of(here, folder)


@pytest.mark.parametrize("file", ["master.key", "keys.db", "log.db", "views.db"])
def test_a_folder_in_the_place_of_a_file_is_reported(
    folder: Path, here: Here, file: str
) -> None:
    (folder / file).unlink()
    (folder / file).mkdir()

    assert str(folder) in told_of(here, folder)
