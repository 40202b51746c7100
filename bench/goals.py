"""What was to be reached, held against what the parts of the report measured.

Each row says what it is of, what was measured, the goal, and whether that was reached.  Beside
CRUD the goal is held against the service without keys (`bench/crud_service.py`), which does
less than the one with keys; that one's figure stands in brackets.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

#: What the parts found, by name.
Found = Mapping[str, Any]


class Verdict(NamedTuple):
    """Figures as they are shown, and whether they reach the goal."""

    shown: str
    reached: bool


class Goal(NamedTuple):
    """One row.

    Attributes:
        what: Of which figure.
        goal: In words.
        judge: Reads the figure; a part that was not measured is a `KeyError`.
    """

    what: str
    goal: str
    judge: Callable[[Found], Verdict]


def held_against_goals(found: Found) -> Iterator[tuple[str, str, str, str]]:
    """Yield what, figure, goal and whether it was reached, of every goal."""
    for goal in GOALS:
        try:
            shown, reached = goal.judge(found)
        except KeyError:
            yield goal.what, "not measured", goal.goal, "–"
        else:
            yield goal.what, shown, goal.goal, "yes" if reached else "**no**"


def _call(found: Found, name: str) -> Mapping[str, Any]:
    for row in found["thin"]["rows"]:
        if row["name"] == name:
            shown: Mapping[str, Any] = row
            return shown
    raise KeyError(name)


def _beside_crud(name: str, least: float) -> Callable[[Found], Verdict]:
    def judge(found: Found) -> Verdict:
        row = _call(found, name)
        told = f"{row['of_crud']} × ({row['of_keyed']} ×), {row['cpu_ms']} ms CPU"
        return Verdict(told, row["of_crud"] >= least)

    return judge


def _two_nodes(found: Found) -> Verdict:
    name = "ours on PostgreSQL, GET finished search"
    two, one = _call(found, f"{name}, 2 nodes")["per_s"], _call(found, name)["per_s"]
    return Verdict(f"{two / one:.2f} ×", two / one >= 1.7)


def _live(found: Found) -> Verdict:
    ours = found["live"]["rows"]["ours"]
    per_s, cpu_ms = ours["per_s"][0], ours["cpu_ms"][0]
    return Verdict(f"{per_s}/s, {cpu_ms} ms CPU", per_s >= 25 and cpu_ms <= 40)


def _path(found: Found) -> Verdict:
    ratio = found["path"]["ratio"][0]
    return Verdict(f"{ratio} ×", ratio <= 1.15)


def _cluster(found: Found) -> Verdict:
    per_s, cpu_ms = found["cluster"]["per_s"], found["cluster"]["cpu_ms"]["python"]
    return Verdict(f"{per_s}/s, {cpu_ms} ms CPU", per_s >= 15 and cpu_ms <= 80)


def _own_time(found: Found) -> Verdict:
    p50, p95 = found["own-time"]["every role: our own time"]
    return Verdict(f"{p50} / {p95} ms", p50 <= 60 and p95 <= 100)


def _speed(part: str, name: str, least: float) -> Callable[[Found], Verdict]:
    def judge(found: Found) -> Verdict:
        rows = {row["name"]: row["median"] for row in found[part]["rows"]}
        first = found[part]["rows"][0]
        if "library" not in first["name"] or (part == "append" and "SQL" not in first["name"]):
            raise KeyError("the library's recorder")
        times = rows[name] / first["median"]
        return Verdict(f"{times:.1f} ×", times >= least)

    return judge


def _observing(found: Found) -> Verdict:
    shares = []
    for name, call in (("usage", "GET usage"), ("ended", "GET finished search")):
        figures = found["observing"][name]
        more_us = figures["cpu_us_on"] - figures["cpu_us_off"]
        shares.append(more_us / 10 / _call(found, f"ours, {call}")["cpu_ms"])
    return Verdict(" and ".join(f"{share:.1f} %" for share in shares), max(shares) <= 2)


GOALS = (
    Goal(
        "`GET /searches/{id}`, ended, beside CRUD's `GET` on SQLite",
        "≥ 1 ×",
        _beside_crud("ours, GET finished search", 1),
    ),
    Goal(
        "`POST` from reuse, beside CRUD's `POST` on SQLite",
        "≥ 0.3 ×",
        _beside_crud("ours, POST from reuse", 0.3),
    ),
    Goal("Two nodes of the API beside one", "≥ 1.7 × where cores allow", _two_nodes),
    Goal("Live searches, one process", "≥ 25/s, ≤ 40 ms CPU", _live),
    Goal("A live search beside the longest chain it waits for", "≤ 1.15 ×", _path),
    Goal("Live searches, every role and one broker", "≥ 15/s, ≤ 80 ms CPU", _cluster),
    Goal("Our own time through every role, p50 / p95", "≤ 60 / 100 ms", _own_time),
    Goal(
        "Making views in a SQLite file, beside the library",
        "≥ 50 ×",
        _speed("projections", "pages of 2,000", 50),
    ),
    Goal(
        "Appending to PostgreSQL, 16 callers, beside the library",
        "≥ 15 ×",
        _speed("append", "ours", 15),
    ),
    Goal("What figures cost `GET /usage` and an ended search", "≤ 2 %", _observing),
)
