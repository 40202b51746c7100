"""What a second opinion on headlines can add at most: counted on a labelled set.

    .venv/bin/python bench/second_opinion.py LABELLED.jsonl [MISTAKES]

Every row has ``headline, family, level, eligible, title, company, contested``; contested rows
are left out.  Prints how many headlines the rules are unsure of, how many of their wrong
readings ("eligible" is wrong) are among those, and F1 of "eligible" by the rules alone and
with a model that is played by the labels: one that is never wrong, and one that takes another
family in a share MISTAKES of its answers (0.1 unless told otherwise).  **No model is asked:
the figures are bounds, and say nothing of any model there is.**
"""

import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cs.domain.contact import Opinion
from cs.domain.opinions import settled
from cs.domain.roles.doubt import doubts
from cs.domain.roles.labels import Family
from cs.domain.roles.role import JobRole, classify

SEED = 1
Row = dict[str, Any]


def f1(roles: Sequence[JobRole], rows: Sequence[Row]) -> float:
    pairs = [(role.eligible, row["eligible"]) for role, row in zip(roles, rows, strict=True)]
    both = sum(said and true for said, true in pairs)
    every = sum(said for said, _ in pairs) + sum(true for _, true in pairs)
    return 2 * both / every if every else 1.0


def played(row: Row, mistakes: float, chance: random.Random) -> Opinion:
    """Return what a model says that knows the labels of *row*, and is wrong now and then."""
    family = row["family"]
    if chance.random() < mistakes:
        family = chance.choice([each.value for each in Family if each.value != family])
    return Opinion(
        person="p1",
        family=family,
        level=row["level"],
        title=row["title"],
        company=row["company"],
    )


def main(path: Path, mistakes: float) -> None:
    rows = [
        row for row in map(json.loads, path.read_text().splitlines()) if not row["contested"]
    ]
    roles = [classify(row["headline"]) for row in rows]
    why = [doubts(row["headline"], role) for row, role in zip(rows, roles, strict=True)]
    wrong = [role.eligible != row["eligible"] for role, row in zip(roles, rows, strict=True)]
    among = sum(bad and bool(unsure) for bad, unsure in zip(wrong, why, strict=True))
    print(f"{len(rows)} headlines, unsure of {sum(map(bool, why))}")
    print(f"read wrong: {sum(wrong)}, of them unsure: {among}")
    print(f"F1 by the rules: {f1(roles, rows):.3f}")
    for share in (0.0, mistakes):
        chance = random.Random(SEED)
        after = [
            settled(role, unsure, played(row, share, chance), row["headline"])
            for role, unsure, row in zip(roles, why, rows, strict=True)
        ]
        print(f"with a model that is wrong of {share:.0%}: {f1(after, rows):.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0.1)
