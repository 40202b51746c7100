"""The operator's pages name every log line that asks for somebody, as the source writes it."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "cs"
MONITORING = (ROOT / "docs" / "monitoring.md").read_text()
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()

LEVELS = {"warning": "warning", "error": "error", "exception": "error", "critical": "critical"}
#: `log.log(level, event)` passes on what a library says, at the level that it has there.
PASSED_ON = ("warning", "error", "critical")
#: Whatever has none of these is not parsed: most of the source.
LOGS = re.compile(rf"\blog\.({'|'.join(LEVELS)}|log)\b")


@cache
def lines_in_source() -> dict[str, set[str]]:
    """Return for each event of a log line at warning or above its levels."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in SOURCE.rglob("*.py"):
        text = file.read_text()
        if LOGS.search(text):
            for event, *levels in lines_in(ast.parse(text)):
                found[event].update(levels)
    return dict(found)


def lines_in(module: ast.Module) -> Iterator[tuple[str, ...]]:
    for node in ast.walk(module):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name("log"), attr="log"),
                args=[_, ast.Constant(str(event)), *_],
            ):
                yield event, *PASSED_ON
            case ast.Call(
                func=ast.Attribute(value=ast.Name("log"), attr=method),
                args=[ast.Constant(str(event)), *_],
            ) if method in LEVELS:
                yield event, LEVELS[method]
            case ast.Call(func=ast.Attribute(value=ast.Name("log"), attr=method)) if method in {
                *LEVELS,
                "log",
            }:
                raise AssertionError(f"line {node.lineno}: the event is no literal")
            case _:
                pass


def lines_on_page() -> dict[str, set[str]]:
    section = MONITORING.partition("\n## Log lines\n")[2].partition("\n## ")[0]
    found: dict[str, set[str]] = {}
    for names, level, *told in rows(section):
        for event in re.findall(r"`(\w+)`", names):
            assert event not in found, f"{event} stands there twice"
            assert all(told), f"{event}: what it means and what to do"
            found[event] = set(level.split(", "))
    return found


def rows(section: str) -> Iterator[list[str]]:
    for line in section.splitlines():
        if line.startswith("| `") and not line.startswith("| `event`"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def test_every_line_that_can_be_logged_is_explained_and_no_other() -> None:
    told, logged = lines_on_page(), lines_in_source()

    assert sorted(logged.keys() - told.keys()) == []
    assert sorted(told.keys() - logged.keys()) == []


def test_levels_are_those_of_the_source() -> None:
    logged = lines_in_source()

    told = {event: levels for event, levels in lines_on_page().items() if event in logged}

    assert told == logged


def test_what_the_procedures_look_for_is_in_the_table() -> None:
    shows = re.findall(r"^\*\*Symptoms\*\*.*$", RUNBOOK, re.MULTILINE)
    named = {event for line in shows for event in re.findall(r"log `(\w+)`", line)}

    assert len(shows) == len(re.findall(r"^## ", RUNBOOK, re.MULTILINE))
    assert named
    assert named <= lines_on_page().keys()


def test_every_field_of_readyz_in_the_source_is_explained() -> None:
    section = MONITORING.partition("\n## Health\n")[2].partition("\n## ")[0]
    source = (SOURCE / "admin" / "health.py").read_text()
    fields = set(re.findall(r'body\["(\w+)"\]', source)) - {"ready"}

    assert "views_behind" in fields
    assert {field for field in fields if f"`{field}" not in section} - {"bus"} == set()
