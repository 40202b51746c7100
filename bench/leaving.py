"""SIGTERM while thousands of calls are held: are all answered, and when has it ended?

PYTHONPATH=tests .venv/bin/python bench/leaving.py [CALLS ...]
"""

import asyncio
import sys
import tempfile
from collections import Counter
from pathlib import Path

from cli.leaving import left_while_holding
from harness.api_keys import new_keys
from harness.served import served

CALLS = (200, 2_000)


def main(calls: int) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "data"
        with served(folder, CS_HOLDS=str(calls)) as service:
            keys = asyncio.run(new_keys(folder, calls // 2))
            left = asyncio.run(left_while_holding(service, keys))
    statuses = dict(Counter(answer.status for answer in left.answers))
    print(
        f"{len(left.answers)} held calls, answers by status {statuses}; "
        f"the last after {left.last_answer_s:.2f} s, ended after {left.ended_s:.2f} s, "
        f"exit code {left.code}"
    )


if __name__ == "__main__":
    for number in map(int, sys.argv[1:]):
        main(number)
    if not sys.argv[1:]:
        for number in CALLS:
            main(number)
