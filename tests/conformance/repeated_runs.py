"""Runs tests of the suite, one run after the other, in one process.

``python -m conformance.repeated_runs`` reads a `Run` from each line of standard input and
answers with an `Ended` on standard output.  A run reads its environment anew, so each may be
against another deployment; pytest and the modules of the suite are imported once.
"""

import io
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, field

import pytest

from conformance.rows import HERE, ROOT


@dataclass(frozen=True)
class Run:
    """Tests, as ``test_body.py::test_name``, and what *environment* they are run with."""

    tests: Sequence[str]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Ended:
    """The exit code of pytest, the tests that failed, and what it printed."""

    code: int
    failed: Sequence[str]
    output: str


@dataclass(eq=False)  # a plug-in is looked for in a set
class _Failed:
    """A plug-in of pytest that notes which tests failed, and where one could not even begin."""

    tests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            (self.tests if report.when == "call" else self.errors).append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.errors.append(report.nodeid)


def _ended(run: Run) -> Ended:
    os.environ.update(run.environment)
    noted = _Failed()
    with redirect_stdout(io.StringIO()) as printed:
        code = pytest.main(
            [
                *("-q", "--tb=short", "-p", "no:cacheprovider", "--rootdir", str(ROOT)),
                *("-p", "pytest_asyncio.plugin", "-p", "pytest_timeout"),
                *("--confcutdir", str(HERE), *(str(HERE / test) for test in run.tests)),
            ],
            plugins=[noted],
        )
    failed = [test.partition("tests/conformance/")[2] for test in noted.tests]
    return Ended(2 if noted.errors else int(code), failed, printed.getvalue())


def main() -> None:
    answers = sys.stdout
    for line in sys.stdin:
        answers.write(f"{json.dumps(asdict(_ended(Run(**json.loads(line)))))}\n")
        answers.flush()


if __name__ == "__main__":
    main()
