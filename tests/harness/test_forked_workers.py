"""Workers that are forked once tests are collected run each test, once, and say how it went."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.forked_workers import Parts, part_lengths

TESTS = Path(__file__).parents[1]
HOW_THEY_END = """
import os, pytest
def test_that_passes(tmp_path, worker_id): assert worker_id in str(tmp_path)
def test_that_fails(): print("said before"); assert 1 == 2
def test_that_is_skipped(): pytest.skip("for a reason")
@pytest.fixture
def broken(): raise ValueError("as it was set up")
def test_that_is_never_begun(broken): pass
def test_that_collects_nothing(capfd): os.write(1, b"x"); assert capfd.readouterr().out == "x"
"""
MANY = """
import os, pytest
@pytest.fixture(scope="session")
def mine(tmp_path_factory):
    yield (noted := tmp_path_factory.mktemp("mine") / "ran")
    os.rename(noted, noted.with_name("torn down"))
@pytest.mark.parametrize("number", range(50))
def test_it(number, mine):
    with mine.open("a") as noted: noted.write(f"{number} ")
"""
DIES = """
import os, pytest, signal
@pytest.mark.parametrize("number", range(40))
def test_it(number):
    if number in (3, 4, 19): os.kill(os.getpid(), signal.SIGKILL)
"""
LEAVES = """
import os
def test_that_leaves(): os._exit(5)
"""
NEVER_ENDS_WELL = """
import pytest
@pytest.fixture(scope="session", autouse=True)
def to_the_end(): yield; raise ValueError("as all was torn down")
def test_it(): pass
"""


@given(tests=st.integers(0, 12), workers=st.integers(1, 4), data=st.data())
def test_each_test_is_handed_out_once_in_whatever_order_workers_ask(
    tests: int, workers: int, data: st.DataObject
) -> None:
    parts = Parts(tests, workers)
    asking = {worker: parts.of(worker) for worker in range(workers)}
    handed_out: list[int] = []

    while asking:
        worker = data.draw(st.sampled_from(sorted(asking)))
        number = next(asking[worker], None)
        if number is None:
            del asking[worker]
        else:
            handed_out.append(number)

    assert sorted(handed_out) == list(range(tests))


def test_a_worker_goes_through_its_own_part_then_takes_half_of_the_longest() -> None:
    parts = Parts(12, 3)
    first, second = parts.of(0), parts.of(1)

    assert [next(first) for _ in range(4)] == [0, 1, 2, 3]
    assert [next(second) for _ in range(2)] == [4, 5]
    assert [next(first) for _ in range(2)] == [10, 11]
    assert next(first) == 7


def test_nobody_is_handed_one_after_the_run_is_cut_off() -> None:
    parts = Parts(10, 2)
    first, second = parts.of(0), parts.of(1)
    assert next(first) == 0

    parts.leave_out_the_rest()

    assert next(first, None) is next(second, None) is None


@pytest.mark.parametrize(
    ("tests", "lengths"), [(9_694, [2423, 2423, 2424, 2424]), (3, [0, 1, 1, 1])]
)
def test_parts_are_as_long_as_those_of_the_scheduler(tests: int, lengths: list[int]) -> None:
    assert part_lengths(tests, 4) == lengths


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def run(tests: str, *words: str) -> "subprocess.CompletedProcess[str]":
        (tmp_path / "test_it.py").write_text(tests)
        plugged = (
            "-p",
            "harness.forked_workers",
            "-p",
            "no:schemathesis",
            "-p",
            "no:cacheprovider",
        )
        here = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        return subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path)),
                *(
                    "--basetemp",
                    str(tmp_path / "base"),
                    *plugged,
                    "--forks",
                    "2",
                    *words,
                    str(tmp_path),
                ),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env=here | {"PYTHONPATH": str(TESTS)},
        )

    return run


@pytest.mark.slow
def test_how_each_test_ended_is_told_as_without_workers(run: Run) -> None:
    ran = run(HOW_THEY_END)

    assert ran.returncode == pytest.ExitCode.TESTS_FAILED, ran.stdout
    assert "1 failed, 2 passed, 1 skipped, 1 error" in ran.stdout
    assert "assert 1 == 2" in ran.stdout
    assert "said before" in ran.stdout
    assert "as it was set up" in ran.stdout


@pytest.mark.slow
def test_each_worker_has_its_own_of_a_session_and_tears_it_down(
    run: Run, tmp_path: Path
) -> None:
    ran = run(MANY)

    assert ran.returncode == 0, ran.stdout
    assert "50 passed" in ran.stdout
    files = list(tmp_path.glob("base/gw*/mine0/torn down"))
    numbers = [int(number) for file in files for number in file.read_text().split()]
    assert sorted(numbers) == list(range(50))


@pytest.mark.slow
def test_the_test_in_which_a_worker_is_killed_has_failed_and_all_others_are_run(
    run: Run,
) -> None:
    ran = run(DIES)

    assert ran.returncode == pytest.ExitCode.TESTS_FAILED, ran.stdout
    assert "3 failed, 37 passed" in ran.stdout
    assert ran.stdout.count("the worker that ran it was killed: SIGKILL") >= 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tests", "told"),
    [
        (LEAVES, "ended with 5"),
        (NEVER_ENDS_WELL, "as all was torn down"),
        (HOW_THEY_END.replace("test_that_passes", "test_that_passes("), "SyntaxError"),
    ],
    ids=["a worker leaves", "the end of a session fails", "a module cannot be read"],
)
def test_what_goes_wrong_beside_the_tests_makes_the_run_fail(
    run: Run, tests: str, told: str
) -> None:
    ran = run(tests)

    assert ran.returncode not in {0, pytest.ExitCode.INTERNAL_ERROR}, ran.stdout
    assert told in ran.stdout


@pytest.mark.slow
def test_a_run_that_is_to_stop_at_the_first_failure_does(run: Run) -> None:
    ran = run(
        "import pytest\n@pytest.mark.parametrize('n', range(500))\ndef test_it(n): assert 0",
        "-x",
    )

    assert ran.returncode == pytest.ExitCode.TESTS_FAILED, ran.stdout
    assert "1 failed" in ran.stdout
