"""Rules of files, of other versions and of plug-ins; what is wrong with them is told."""

import shutil
import sys
from pathlib import Path

import pytest

import cs
from cs.domain.contact import BrandFacts, BrandMatch, Person, Query, SourceMatches
from cs.domain.ranking import rank
from cs.history.replay.loading import opened_rules
from cs.history.replay.other_version import OtherVersion
from cs.history.replay.rules import TODAY, BrokenRules
from history.replay.made_up import STRICTER, checked

ACME = BrandFacts(name="Acme", domain="acme.test", mail_domains=("acme.test",))
PEOPLE = tuple(
    Person(person=f"p{n}", full_name=f"Jo {n}", headline=headline)
    for n, headline in enumerate(
        ["Head of Influencer Marketing at Acme", "Senior Brand Manager at Acme", "Cook"], 1
    )
)
CHECKS = tuple(
    checked(f"p{n}", "acme.test", reply)
    for n, reply in enumerate(["250 Ok for now", "550 5.1.1 No such user"], 1)
)
MATCHES = (SourceMatches("directory", (BrandMatch(facts=ACME, score=0.8),)),)


def told(said: str) -> str:
    """Return what is told of rules that fail, when they are loaded or when they are asked."""
    with pytest.raises(BrokenRules) as broken:
        ask_all(said)
    return str(broken.value)


def ask_all(said: str) -> None:
    with opened_rules(said) as rules:
        rules.rank(ACME, PEOPLE, 25)
        rules.judge(CHECKS)
        rules.resolve(Query("Acme"), MATCHES)


def test_a_file_has_its_own_functions_and_todays_for_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "nobody.py"
    file.write_text("def rank(brand, people, limit):\n    return (), ()\n")

    with opened_rules(str(file)) as rules:
        assert rules.rank(ACME, PEOPLE, 25) == ((), ())
        assert rules.judge(CHECKS) == TODAY.judge(CHECKS)
        assert rules.resolve(Query("Acme"), MATCHES) == TODAY.resolve(Query("Acme"), MATCHES)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("def rank(brand, people, limit:\n", "line 1: '(' was never closed"),
        ("import nowhere\n", "line 1, when it was read: ModuleNotFoundError"),
        ("x = 1\n\ny = 1 / 0\n", "line 3, when it was read: ZeroDivisionError"),
        ("x = 1\n", "defines none of rank(), read_reply(), conclude(), resolve()"),
        (
            "def rank(brand, people, limit):\n    best = 1\n    return best / 0\n",
            "line 3, in rank(): ZeroDivisionError: division by zero",
        ),
        ("def rank(brand, people):\n    return (), ()\n", "in rank(): TypeError"),
        (
            "def rank(brand, people, limit):\n    return people\n",
            "line 1: rank() gave a tuple, not who is shown, and who is left out",
        ),
        (
            "def rank(brand, people, limit):\n    return people[:1], ()\n",
            "line 1: rank() gave a Person, not a RankedPerson",
        ),
        (
            (
                "from cs.domain.contact import LeftOut\n"
                "def rank(brand, people, limit):\n    return (), [LeftOut('p9', 'x')]\n"
            ),
            "line 2: rank() gave a str, not one of the people it was given",
        ),
        (
            (
                "from cs.domain.ranking import rank as todays\n"
                "def rank(brand, people, limit):\n    shown, out = todays(brand, people)\n"
                "    return shown * 2, out\n"
            ),
            "line 2: rank() gave somebody twice, not each of them once",
        ),
        (
            "def read_reply(evidence):\n    return 'perhaps'\n",
            "line 1: read_reply() gave a str, not a verdict, or a verdict and why",
        ),
        (
            "def read_reply(evidence):\n    raise LookupError('no')\n",
            "line 2, in read_reply(): LookupError: no",
        ),
        ("def conclude(tried):\n    return 1\n", "conclude() gave a int, not a Conclusion"),
        (
            "def resolve(query, matches):\n    return 'some', None\n",
            "line 1: resolve() gave a tuple, not a status, and the facts of a brand",
        ),
        ("\0", "null bytes"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_line(
    tmp_path: Path, source: str, why: str
) -> None:
    file = tmp_path / "rules.py"
    file.write_text(source)

    why_not = told(str(file))

    assert why_not.startswith(str(file))
    assert why in why_not


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    assert told("nowhere.py") == "nowhere.py: no such file or folder"
    assert told("nowhere/at/all") == "nowhere/at/all: no such file or folder"
    assert "no src/cs in it" in told(str(tmp_path))
    (tmp_path / "src/cs").mkdir(parents=True)
    assert "too old" in told(str(tmp_path))
    assert told("strict") == (
        "'strict' is no file, no folder and no entry point of cs.rules: none is installed"
    )


def test_a_plug_in_is_found_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "made_up_rules.py").write_text(STRICTER)
    info = tmp_path / "made_up_rules-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: made-up-rules\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[cs.rules]\nstricter = made_up_rules\nbroken = made_up_rules:nothing\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    with opened_rules("stricter") as rules:
        ranked, _ = rules.rank(ACME, PEOPLE, 25)
        assert [each.person for each in ranked] == ["p1"]
        assert rules.resolve(Query("Acme"), MATCHES).status == "no_match"
    assert "AttributeError" in told("broken")
    assert told("lenient").endswith("broken, stricter")
    sys.modules.pop("made_up_rules", None)


@pytest.fixture(scope="module")
def worktree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another version: brand marketing is no role any more, and its words are others."""
    folder = tmp_path_factory.mktemp("worktree")
    source = Path(cs.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(source, folder / "src/cs", ignore=ignored)
    ranking = folder / "src/cs/domain/ranking.py"
    changed = ranking.read_text().replace(
        "if not role.eligible or", 'if not role.eligible or role.family == "brand" or'
    )
    assert changed != ranking.read_text()
    ranking.write_text(changed)
    return folder


@pytest.mark.slow
def test_another_version_answers_from_a_process_of_its_own(worktree: Path) -> None:
    with opened_rules(str(worktree)) as rules:
        ranked, left_out = rules.rank(ACME, PEOPLE, 25)

        assert [each.person for each in ranked] == ["p1"]
        assert [left.person for left in left_out] == ["p2", "p3"]
        assert list(rules.judge(CHECKS)) == TODAY.judge(CHECKS)
        assert rules.resolve(Query("Acme"), MATCHES) == TODAY.resolve(Query("Acme"), MATCHES)
    # Here, it is as it was.
    assert [each.person for each in rank(ACME, PEOPLE)[0]] == ["p1", "p2"]


@pytest.mark.slow
def test_what_another_version_raises_is_told_with_its_line(worktree: Path) -> None:
    ranking = worktree / "src/cs/domain/ranking.py"
    before = ranking.read_text()
    ranking.write_text(before.replace("shown.sort(", "shown.sorted("))
    try:
        why = told(str(worktree))
    finally:
        ranking.write_text(before)

    assert "src/cs/domain/ranking.py, line " in why
    assert "in rank(): AttributeError" in why


def test_another_version_that_cannot_start_says_why(worktree: Path) -> None:
    ranking = worktree / "src/cs/domain/ranking.py"
    before = ranking.read_text()
    ranking.write_text("def rank(:\n")
    try:
        why = told(str(worktree))
    finally:
        ranking.write_text(before)

    assert "SyntaxError: invalid syntax" in why


@pytest.mark.slow  # processes of their own
def test_another_version_that_does_not_answer_is_given_up(worktree: Path) -> None:
    ranking = worktree / "src/cs/domain/ranking.py"
    before = ranking.read_text()
    ranking.write_text(
        before.replace("    shown.sort(", "    while True: pass\n    shown.sort(")
    )
    try:
        with (
            OtherVersion(worktree, answer_s=5) as rules,
            pytest.raises(BrokenRules, match="it gave no answer in 5 s"),
        ):
            rules.rank(ACME, PEOPLE, 25)
    finally:
        ranking.write_text(before)
