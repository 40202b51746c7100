"""Rules of files; what is wrong with them is reported."""

from pathlib import Path

import pytest

from cs.domain.contact import BrandFacts, Person
from cs.history.replay.rules import BrokenRules, Rules, load_rules
from history.replay.made_up import checked

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


TODAY = Rules()
RANK = "def rank(brand, people, limit, opinions):\n"


def told(path: Path) -> str:
    """Return the message about rules that fail, when loaded or when asked."""
    with pytest.raises(BrokenRules) as broken:
        ask_all(path)
    return str(broken.value)


def ask_all(path: Path) -> None:
    rules = load_rules(path)
    rules.rank(ACME, PEOPLE, 25, ())
    for checks in CHECKS:
        rules.judge(checks)


def test_a_file_has_its_own_functions_and_todays_for_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "nobody.py"
    file.write_text("def rank(brand, people, limit, opinions):\n    return (), ()\n")

    rules = load_rules(file)

    assert rules.rank(ACME, PEOPLE, 25, ()) == ((), ())
    assert [*map(rules.judge, CHECKS)] == [*map(TODAY.judge, CHECKS)]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("def rank(brand, people, limit:\n", "SyntaxError: […] was never closed"),
        ("import nowhere\n", "line 1, when it was read: ModuleNotFoundError"),
        ("\0", "null bytes"),
        ("x = 1\n", "defines none of rank(), read_reply(), conclude()"),
        (
            RANK + "    best = 1\n    return best / 0\n",
            "line 3, in rank(): ZeroDivisionError: division by zero",
        ),
        (
            RANK + "    return people\n",
            "line 1: rank() returns who is shown, as RankedPerson, and who is not",
        ),
        (
            "def read_reply(evidence):\n    return 'Jo Ann', 'why'\n",
            "line 1: read_reply() returns a verdict and why, or None: Invalid enum value […]",
        ),
        ("def conclude(tried):\n    return 1\n", "conclude() returns a Conclusion: "),
    ],
)
def test_what_is_wrong_with_a_file_is_reported_with_its_line(
    tmp_path: Path, source: str, why: str
) -> None:
    file = tmp_path / "rules.py"
    file.write_text(source)

    why_not = told(file)

    assert why_not.startswith(str(file))
    assert why in why_not


def test_what_is_no_file_of_rules_is_reported(tmp_path: Path) -> None:
    assert "FileNotFoundError" in told(tmp_path / "nowhere.py")
    assert "is a folder: run the cs replay of that checkout with --json" in told(tmp_path)
