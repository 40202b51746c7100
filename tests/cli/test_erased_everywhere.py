"""Who was erased is in nothing that any command for analysts prints or writes, revealed or not.

Of the demo's year, in which two people were erased; somebody who was not is looked for in the
same outputs, so that the search itself is proved.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from cli.command import ran
from cli.year import year

__all__ = ["year"]
pytestmark = pytest.mark.slow

#: Of Priya Raman, who was returned for Veltrana until she was erased.
ERASED = ("priya", "raman")
#: Of Amara Okafor, who was returned with her: in a name, and in an address.
KEPT = ("amara okafor", "amara.okafor@")
#: When both were returned.
BEFORE = "2025-12-20"
WHY = "ticket 42 asks who was answered"
#: Commands that show people once a reason is given.
REVEALING = (
    ("events export", ("events", "export", "--until", "2026-01-31")),
    ("searches show", ("searches", "show", "SEARCH", "--at", BEFORE)),
    ("searches show --json", ("searches", "show", "SEARCH", "--at", BEFORE, "--json")),
    ("compare", ("compare", "Veltrana")),
    ("compare --json", ("compare", "Veltrana", "--json")),
    ("replay ranking", ("replay", "ranking", "--json", "--rules", "nobody.py")),
    ("replay verdicts", ("replay", "verdicts", "--json", "--rules", "nobody.py")),
)
#: What never does.
SEALED = (
    ("state", ("state", "BRAND", "--at", BEFORE)),
    ("state --diff", ("state", "BRAND", "--diff", "1", "3900")),
    ("events why", ("events", "why", "20")),
    ("searches list", ("searches", "list")),
    ("report", ("report", "--since", "2025-11-03", "--until", "2026-11-02")),
    ("report --json", ("report", "--since", "2025-11-03", "--until", "2026-11-02", "--json")),
    ("trail", ("log", "trail", "--json")),
)
#: A rule by which everybody is another one's loss, so that a replay names everybody.
NOBODY = """
def rank(brand, people, limit, opinions):
    from cs.domain.contact import LeftOut
    return (), tuple(LeftOut(person.person, "nobody") for person in people)
def read_reply(evidence):
    return "unknown", "nobody"
"""


@pytest.fixture(scope="module")
def folder(year: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("erased") / "cs-history"
    shutil.copytree(year, copy)
    (copy.parent / "nobody.py").write_text(NOBODY)
    return copy


@pytest.fixture(scope="module")
def names(folder: Path) -> dict[str, str]:
    """Return what stands for itself in the commands."""
    listed = ran(
        *("searches", "list", "--brand", "Veltrana", "--until", BEFORE, "--json"),
        *("--data-dir", str(folder)),
    ).rows
    live = next(row for row in listed if not row["reused"])
    return {
        "SEARCH": live["search"],
        "BRAND": live["lookup"].rpartition(".")[0],
        "nobody.py": str(folder.parent / "nobody.py"),
    }


def shown(folder: Path, names: dict[str, str], words: tuple[str, ...], *more: str) -> str:
    """Return all that the command of *words* prints, in lower case."""
    command = [names.get(word, word) for word in words]
    done = ran(*command, *more, "--data-dir", str(folder))
    assert done.code == 0, done
    return (done.out + done.err).lower()


@pytest.mark.parametrize("words", [pytest.param(w, id=name) for name, w in REVEALING])
def test_a_revealing_command_shows_the_others_and_no_erased_person(
    folder: Path, names: dict[str, str], words: tuple[str, ...]
) -> None:
    revealed = shown(folder, names, words, "--reveal", WHY)
    sealed = shown(folder, names, words)

    assert [each for each in KEPT if each in revealed]
    assert not [each for each in KEPT if each in sealed]
    assert not [each for each in ERASED if each in revealed or each in sealed]


@pytest.mark.parametrize("words", [pytest.param(w, id=name) for name, w in SEALED])
def test_a_command_that_reveals_no_person_shows_no_erased_one(
    folder: Path, names: dict[str, str], words: tuple[str, ...]
) -> None:
    printed = shown(folder, names, words)

    assert printed.strip()
    assert not [each for each in (*ERASED, *KEPT) if each in printed]


def test_a_page_of_a_past_answer_has_no_erased_person(
    folder: Path, names: dict[str, str], tmp_path: Path
) -> None:
    page = tmp_path / "search.html"

    shown(
        folder,
        names,
        ("searches", "show", "SEARCH", "--at", BEFORE, "--html", str(page)),
        *("--reveal", WHY),
    )

    text = page.read_text().lower()
    assert KEPT[0] in text
    assert not [each for each in ERASED if each in text]


def test_tables_exported_after_an_erasure_have_no_erased_person(
    folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "history.duckdb"
    words = ("events", "export", "--out", str(file), "--reveal", WHY)

    shown(folder, {}, words)

    text = "\n".join(cells(file)).lower()
    assert KEPT[0] in text
    assert not [each for each in ERASED if each in text]


def cells(file: Path) -> Iterator[str]:
    """Yield every row of every table of *file* as text."""
    with duckdb.connect(str(file), read_only=True) as tables:
        for (name,) in tables.execute("SHOW TABLES").fetchall():
            for row in tables.execute(f'SELECT * FROM "{name}"').fetchall():
                yield str(row)


def test_a_person_erased_is_held_no_more(folder: Path) -> None:
    asked = ran(
        *("people", "export", "--email", "priya.raman@veltrana.test"),
        *("--data-dir", str(folder)),
    )

    assert "raman" not in (asked.out + asked.err).lower().replace("priya.raman@", "")


def test_an_erasure_names_the_exports_that_may_hold_the_person(folder: Path) -> None:
    kept = ("people", "erase", "--profile", profile_of(folder, KEPT[0]))

    done = ran(*kept, "--json", "--data-dir", str(folder))

    assert done.code == 0, done
    named = done.rows[0]["disclosed"]
    assert "events export" in {each["command"] for each in named}
    assert {each["why"] for each in named} == {WHY}
    assert not [each for each in KEPT if each in done.out.lower()]


def profile_of(folder: Path, name: str) -> str:
    """Return the address of the profile of *name*, as the log has it."""
    words = ("events", "export", "--type", "people-found", "--type", "contacts-discovered")
    lines = shown(folder, {}, words, "--reveal", WHY)
    at = lines.index(name)
    start = lines.index("https://www.linkedin.com/in/", at)
    return lines[start : lines.index('"', start)]
