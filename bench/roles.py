"""How well headlines are read: accuracy on a labelled set.

    .venv/bin/python bench/roles.py [LABELLED.jsonl] [--wrong]

Without a set, on that of the tests.  Every row has ``headline, family, level, eligible,
title, company, contested``.  Prints the share of rows that are right, for all rows and for
those on which sensible people agree, and precision and recall of "eligible"; with ``--wrong``
also each row that is read otherwise.
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from cs.domain.names.plain_text import folded
from cs.domain.roles.role import JobRole, classify

OF_THE_TESTS = Path(__file__).parents[1] / "tests/domain/data/own_titles.jsonl"

_SAME = {
    "sr": "senior",
    "jr": "junior",
    "mgr": "manager",
    "dir": "director",
    "vp": "vice president",
}


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STOP = _word_set(
    "of the for de du des la le les el los da do das dos di del della and a an to in der die "
    "das und et y e en d l"
)
_LEGAL = _word_set("inc llc ltd limited gmbh ag se sa plc corp co bv ab oy spa srl sas kg")

Row = dict[str, Any]


def same_title(given: str | None, wanted: str | None) -> bool:
    """Equal but for abbreviations, punctuation and stop words, or a token F1 of 0.8."""
    if given is None or wanted is None:
        return given is wanted
    ours, theirs = _tokens(given), _tokens(wanted)
    both = sum((Counter(ours) & Counter(theirs)).values())
    return ours == theirs or 2 * both >= 0.8 * (len(ours) + len(theirs))


def same_company(given: str | None, wanted: str | None) -> bool:
    """Equal but for punctuation and legal form, or one within the other."""
    if given is None or wanted is None:
        return given is wanted
    ours, theirs = _firm(given), _firm(wanted)
    return bool(ours and theirs) and (ours in theirs or theirs in ours)


def _tokens(title: str) -> list[str]:
    spelt = " ".join(
        _SAME.get(word, word)
        for word in re.findall(r"\w+", title.casefold().replace("&", " and "))
    )
    return [word for word in spelt.split() if word not in _STOP]


def _firm(name: str) -> str:
    return " ".join(word for word in re.findall(r"\w+", folded(name)) if word not in _LEGAL)


def right(role: JobRole, row: Row) -> dict[str, bool]:
    return {
        "family": role.family == row["family"],
        "level": role.level == row["level"],
        "eligible": role.eligible == row["eligible"],
        "title": same_title(role.title, row["title"]),
        "company": same_company(role.company, row["company"]),
    }


def measure(rows: list[Row]) -> dict[str, float]:
    """Return shares from 0 to 1; precision and recall are 1 where nothing is eligible."""
    roles = [classify(row["headline"]) for row in rows]
    checks = [right(role, row) for role, row in zip(roles, rows, strict=True)]
    found = sum(role.eligible for role in roles)
    wanted = sum(row["eligible"] for row in rows)
    both = sum(role.eligible and row["eligible"] for role, row in zip(roles, rows, strict=True))
    shares = {
        name: sum(check[name] for check in checks) / len(rows)
        for name in ("family", "level", "eligible", "title", "company")
    }
    return shares | {
        "precision": both / found if found else 1.0,
        "recall": both / wanted if wanted else 1.0,
    }


def load(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def main(path: Path, *, wrong: bool) -> None:
    rows = load(path)
    for name, chosen in (
        ("all", rows),
        ("uncontested", [row for row in rows if not row["contested"]]),
    ):
        shares = "  ".join(f"{key} {share:.3f}" for key, share in measure(chosen).items())
        print(f"{name:12} {len(chosen):4}  {shares}")
    for row in rows if wrong else ():
        role = classify(row["headline"])
        missed = [name for name, ok in right(role, row).items() if not ok]
        if missed:
            mark = " (contested)" if row["contested"] else ""
            print(f"{row['headline']!r}{mark}")
            for name in missed:
                print(f"    {name}: {getattr(role, name)!r}, labelled {row[name]!r}")


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--wrong"]
    main(Path(words[0]) if words else OF_THE_TESTS, wrong="--wrong" in sys.argv)
