"""The rows of `contract.toml`, and which test shows which."""

import ast
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
IN_PROCESS = "in_process"

_SKIPS = ("skip", "skipif", "xfail", "importorskip")
#: Marks a test with the ids of the rows it shows.
row = pytest.mark.row


@dataclass(frozen=True)
class Coverage:
    """Rows by id: what they say, tests over HTTP that show them, and tests in process."""

    rows: Mapping[str, str]
    over_http: Mapping[str, frozenset[str]]  # "test_body.py::test_..."
    in_process: Mapping[str, Sequence[str]]  # "tests/domain/test_admission.py::test_..."

    @property
    def bare(self) -> set[str]:
        """Rows that no test shows."""
        return self.rows.keys() - self.over_http.keys() - self.in_process.keys()

    @property
    def unknown(self) -> set[str]:
        """Ids that a test or the list of tests in process names and no row has."""
        return (self.over_http.keys() | self.in_process.keys()) - self.rows.keys()

    @property
    def missing(self) -> set[str]:
        """Tests in process that are named and not there."""
        named = {test for tests in self.in_process.values() for test in tests}
        return {test for test in named if not _is_there(test)}


def coverage() -> Coverage:
    read = tomllib.loads((HERE / "contract.toml").read_text())
    in_process = {
        name: [tests] if isinstance(tests, str) else tests
        for name, tests in read.pop(IN_PROCESS).items()
    }
    rows = {name: wording for table in read.values() for name, wording in table.items()}
    shown: dict[str, set[str]] = {}
    for file in sorted(HERE.glob("test_*.py")):
        module = ast.parse(file.read_text())
        named = {node.attr for node in ast.walk(module) if isinstance(node, ast.Attribute)}
        assert named.isdisjoint(_SKIPS), f"{file.name} skips a test"
        for test, ids in _marked(module):
            for name in ids:
                shown.setdefault(name, set()).add(f"{file.name}::{test}")
    return Coverage(rows, {name: frozenset(tests) for name, tests in shown.items()}, in_process)


def _marked(module: ast.Module) -> Iterator[tuple[str, Iterable[str]]]:
    for node in module.body:
        if not (isinstance(node, ast.FunctionDef) and node.name.startswith("test_")):
            continue
        for mark in node.decorator_list:
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "row":
                yield node.name, [str(ast.literal_eval(given)) for given in mark.args]


def _is_there(test: str) -> bool:
    path, _, name = test.partition("::")
    if not (ROOT / path).is_file():
        return False
    tree = ast.parse((ROOT / path).read_text())
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return any(isinstance(node, kinds) and node.name == name for node in ast.walk(tree))
