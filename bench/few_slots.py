"""`cs`, with workers that do only so many lookups at once: for `bench/fairness.py`."""

import os

from cs.__main__ import main
from cs.pipeline import runner

#: In the environment: how many.
SLOTS = "BENCH_SLOTS"

if __name__ == "__main__":
    runner.MAX_IN_FLIGHT = int(os.environ[SLOTS])
    main()
