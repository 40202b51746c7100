"""Write `docs/metrics.md`: every metric that `/metrics` of a process shows.

``python dev/metrics_reference.py`` writes the page.  With ``--check`` it writes nothing, and
exits with 1 if the page is not what would be written.
"""

import sys
from pathlib import Path

from generated_page import write_or_check

from cs.metrics.instruments import Family
from cs.metrics.metrics import Metrics

PAGE = Path(__file__).resolve().parent.parent / "docs" / "metrics.md"
HEAD = """\
# Metrics

`/metrics` on the admin port of each process, for Prometheus. This page is generated
(`make format`) from `src/cs/metrics/metrics.py`; how to read them is in
[monitoring](monitoring.md#metrics).

Units are seconds, events, messages. No label holds a key, a brand, a person or a domain.
A histogram has `_bucket`, `_sum` and `_count`; asked for as OpenMetrics, the buckets of calls
carry the id of a call as an exemplar. A role has values of what it does, and of nothing else.

| Metric | Type | Labels | |
| --- | --- | --- | --- |
"""
FOOT = """
Beside these the figures of the Python library: `process_cpu_seconds_total`,
`process_resident_memory_bytes`, `process_open_fds`, `process_max_fds`,
`process_start_time_seconds`, `process_virtual_memory_bytes`, `python_gc_*`, `python_info`.
"""


def page() -> str:
    """Return the page."""
    return HEAD + "".join(map(_row, Metrics().families())) + FOOT


def _row(family: Family) -> str:  # type: ignore[type-arg]
    labels = ", ".join(f"`{name}`" for name in family.label_names)
    return f"| `{family.name}` | {family.kind} | {labels or '–'} | {family.text} |\n"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page, __doc__))
