"""What providers with a key add, what they cost, and what the waterfall saves.

    PYTHONPATH=tests .venv/bin/python bench/providers.py [--brands N] [--json] [--out FILE]

One made-up world (`tests/sandbox/provider_world.py`) is searched four times by the whole
service over HTTP: with the free stack alone; with every provider as the waterfall asks them;
the same without People Data Labs' people, who are charged one by one; and with every provider
and no waterfall: each people source asked about every brand, each
verifier about every address that is tried.  The providers are the sandbox's
(docs/sandbox.md#providers-with-a-key); what they cost is their own bill, and the service's
account has to come to the same.

People are right who hold a role at the brand now; e-mails, the addresses of those people.  A
false `deliverable` is a verified address that does not exist or whose domain accepts all.
"""

import argparse
import asyncio
import json
import time
from pathlib import Path
from typing import Any

from cs.runtime import logs
from sandbox.provider_runs import WAYS, Measured, run_way
from sandbox.provider_world import measured_world

#: US dollars for a found e-mail, as a hosted waterfall states of itself.
PUBLISHED_USD = (0.016, 0.048)


def shown(measured: Measured, cpu_s: float) -> dict[str, Any]:
    lines = measured.bill.get("lines", {})
    return {
        "way": measured.way,
        "searches": measured.ended,
        "people": _rates(measured.people),
        "mails": _rates(measured.mails),
        "provable": measured.provable,
        "recall_of_provable": round(measured.mails.right / max(measured.provable, 1), 3),
        "false_deliverable": len(measured.false_deliverable),
        "of_people_who_left": measured.left,
        "of_namesakes": measured.namesakes,
        "usd": measured.usd,
        "usd_counted_by_the_service": round(sum(measured.counted.values()), 4),
        "usd_per_verified": round(measured.usd_per_verified, 4),
        "providers": {name: [each["calls"], each["usd"]] for name, each in lines.items()},
        "cpu_s": round(cpu_s, 1),
    }


def _rates(counts: Any) -> dict[str, Any]:
    rates = {"precision": round(counts.precision, 3), "recall": round(counts.recall, 3)}
    return {**counts._asdict(), **rates}


def tell(rows: list[dict[str, Any]]) -> None:
    low, high = PUBLISHED_USD
    for row in rows:
        people, mails = row["people"], row["mails"]
        print(f"\n{row['way']}: searches {row['searches']}, {row['cpu_s']} s of CPU")
        for what, of in (("people", people), ("e-mails", mails)):
            print(
                f"  {what:8} {of['named']} named, {of['right']} right of {of['there']}: "
                f"precision {of['precision']:.1%}, recall {of['recall']:.1%}"
            )
        print(
            f"  of {row['provable']} that can be proved: {row['recall_of_provable']:.1%}; "
            f"false deliverable: {row['false_deliverable']}; of people who left: "
            f"{row['of_people_who_left']}, of a colleague of that name: {row['of_namesakes']}"
        )
        print(
            f"  ${row['usd']:.2f} (the service counted "
            f"${row['usd_counted_by_the_service']:.2f}), ${row['usd_per_verified']:.4f} a "
            f"verified e-mail; a hosted waterfall states ${low}-{high}"
        )
        for name, (calls, usd) in row["providers"].items():
            print(f"    {name:16} {calls:6} calls  ${usd:9.3f}")


def main() -> None:
    reading = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reading.add_argument("--brands", type=int, default=120)
    reading.add_argument("--json", action="store_true")
    reading.add_argument("--out", type=Path, help="file for the JSON, too")
    asked_for = reading.parse_args()
    logs.configure("error", "console")
    measured = measured_world(asked_for.brands)
    rows = []
    for way in WAYS:
        began = time.process_time()
        result = asyncio.run(run_way(measured, way))
        rows.append(shown(result, time.process_time() - began))
    found = json.dumps(
        {"brands": asked_for.brands, "published_usd": PUBLISHED_USD, "rows": rows}
    )
    if asked_for.out is not None:
        asked_for.out.write_text(found + "\n")
    if asked_for.json:
        print(found)
    else:
        tell(rows)


if __name__ == "__main__":
    main()
