"""``cs people erase`` and ``reapply``: what they print, and the operator's own directory."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from cli.command import Ran, ran

pytestmark = pytest.mark.slow

PROFILE = "https://www.linkedin.com/in/ada-kern"
#: Both at the address of a team; the second under a profile of her own.
ADA = f"Ada Kern,Acme,{PROFILE},team@acme.example"
EVA = "Eva Holt,Acme,https://www.linkedin.com/in/eva-holt,team@acme.example"
#: The second as other lists have her.
EVA_ALONE = "Eva Holt,Acme,https://www.linkedin.com/in/eva-holt,"


class Directory:
    """An operator's own directory of people, in a data folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "data"
        self.file = folder / "people.csv"

    def put(self, *people: str) -> dict[str, Any]:
        self.file.write_text("\n".join(["name,company,linkedin,email", *people]) + "\n")
        (done,) = self.run("directory", "import", str(self.file), "--json").rows
        return done

    def run(self, *words: str) -> Ran:
        return ran(*words, f"--data-dir={self.folder}")

    def erase(self, *words: str) -> dict[str, Any]:
        (done,) = self.run("people", "erase", f"--profile={PROFILE}", "--json", *words).rows
        return done

    def people(self) -> int:
        (status,) = self.run("directory", "status", "--json").rows
        count: int = status["people"]
        return count


@pytest.fixture
def own(tmp_path: Path) -> Directory:
    own = Directory(tmp_path)
    assert own.put(ADA, EVA)["new"] == 2
    return own


def test_neither_the_address_nor_the_profile_is_printed(own: Directory) -> None:
    for who in (["--email", "team@acme.example"], ["--profile", PROFILE]):
        for form in ([], ["--json"], []):
            erased = ran(
                "people", "erase", *who, *form, f"--data-dir={own.folder}", CS_LOG_LEVEL="debug"
            )
            assert erased.code == 0
            assert not any(word in erased.out + erased.err for word in ("team@", "ada-kern"))
            assert erased.out
    assert own.run("people", "reapply").out == "2 erased again\n"
    assert own.run("people", "reapply", "--json").rows == [{"people": 2}]


def test_a_profile_suppresses_only_the_person_who_has_it(own: Directory) -> None:
    foreseen = own.erase("--dry-run")["directory_rows"]
    done = own.erase()

    # Ada's address is theirs: any other row with it as its own goes, too, as everywhere.
    assert (foreseen, done["directory_rows"], own.people()) == (2, 2, 0)
    assert own.put(ADA)["suppressed"] == 1
    assert own.put(EVA_ALONE)["new"] == 1, "nothing is learned from a namesake"


def test_erasing_twice_does_no_harm_and_reapplying_removes_restored_rows(
    own: Directory, tmp_path: Path
) -> None:
    kept = shutil.copy(own.folder / "directory.db", tmp_path / "kept.db")
    own.erase()
    again = own.erase()
    shutil.copy(kept, own.folder / "directory.db")  # as from a backup
    assert own.people() == 2

    (reapplied,) = own.run("people", "reapply", "--json").rows

    assert (again["directory_rows"], again["changed"], reapplied["people"]) == (0, False, 1)
    assert own.people() == 0


def test_a_directory_that_is_away_is_reported_and_nothing_is_lost(own: Directory) -> None:
    whole = (own.folder / "directory.db").read_bytes()
    (own.folder / "directory.db").write_bytes(b"no database" * 500)

    assert "directory.db" in own.run("people", "erase", f"--profile={PROFILE}").error()

    (own.folder / "directory.db").write_bytes(whole)
    assert own.erase()["directory_rows"] == 2
