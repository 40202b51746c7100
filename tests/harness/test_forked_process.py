"""A forked process is one of its own: streams, environment, folder, exit code and death."""

import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from harness.fork_server import WITH_THREADS, Request
from harness.forked_process import ForkedProcess, ForkServer, can_fork, run_command

pytestmark = pytest.mark.slow


def child() -> None:
    """Say what it has been given, then end as it is told to."""
    opened = len([*Path("/proc/self/fd").iterdir()])  # the folder too
    for line in (
        (sys.argv[1:], dict(os.environ)),
        (Path.cwd(), os.getsid(0) == os.getpid(), __name__),
        (opened, "cs.cli.app" in sys.modules),
    ):
        sys.stderr.write(f"{' '.join(map(str, line))}\n")
    match sys.argv[1]:
        case "leave":
            sys.exit(3)
        case "fail":
            raise ValueError("as told")
        case "import":
            here = [name for name in WITH_THREADS if name not in sys.modules]
            importlib.import_module("cs.history.export")
            sys.stderr.write(f"imported here: {' '.join(here)}\n")
        case _:
            signal.pause()


@contextmanager
def forked(how: str) -> Iterator[ForkedProcess]:
    process = ForkedProcess("harness.test_forked_process", [how, "b"], {"WHERE": "here"})
    try:
        with process.stderr:
            yield process
    finally:
        with suppress(ProcessLookupError):  # it has ended
            os.kill(process.pid, signal.SIGKILL)
        process.wait(20)


def test_it_is_given_what_a_new_process_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with forked("leave") as process:
        said = process.stderr.read()
        code = process.wait(20)

    assert said.splitlines() == [
        "['leave', 'b'] {'WHERE': 'here'}",
        f"{tmp_path} True __main__",
        "4 True",
    ]
    assert code == process.poll() == 3


def test_what_cannot_be_forked_is_imported_where_it_is_used() -> None:
    with forked("import") as process:
        said = process.stderr.read()

        assert process.wait(20) == 0, said

    assert said.splitlines()[-1] == "imported here: duckdb pyarrow"


def test_what_it_raises_is_said_and_its_exit_code() -> None:
    with forked("fail") as process:
        said = process.stderr.read()

        assert process.wait(20) == 1
    assert said.endswith("ValueError: as told\n")


def test_of_two_one_is_killed_and_the_other_runs() -> None:
    with forked("wait") as one, forked("wait") as other:
        for process in (one, other):
            assert process.stderr.readline().startswith("['wait', 'b']")
        os.kill(one.pid, signal.SIGKILL)

        assert one.wait(20) == -signal.SIGKILL
        assert other.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(0.01)


def test_what_gives_the_interpreter_another_path_is_not_forked() -> None:
    assert can_fork(os.environ)
    assert not can_fork({**os.environ, "PYTHONPATH": "/elsewhere"})


def test_a_command_is_run_to_its_end() -> None:
    assert "serve" in run_command(["--help"], os.environ).stdout


def test_a_command_that_fails_says_why() -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        run_command(["keys", "show", "nobody", "--data-dir=/nowhere"], os.environ)

    assert failed.value.returncode == 1
    assert failed.value.stderr.startswith("cs: ")


def test_a_child_that_nobody_ended_ends_with_the_server() -> None:
    server = ForkServer(orphans_s=0.1)
    orphan = ForkedProcess("harness.test_forked_process", ["wait"], {}, server=server)
    with orphan.stderr:
        assert orphan.stderr.readline()
        server.close()

        assert orphan.stderr.read().endswith("True\n"), "read to the end: it has none open"


if __name__ == "__main__":
    child()


class SlowToClose(ForkServer):
    """Its child has ended, and it has not closed the pipe yet."""

    def fork(self, request: Request, descriptors: Sequence[int]) -> None:
        del request
        self.pipe = os.dup(descriptors[-1])
        os.write(self.pipe, b"1\n-9\n")

    def close(self) -> None:
        os.close(self.pipe)


def test_an_end_that_was_read_is_known_before_the_server_closes_the_pipe() -> None:
    server = SlowToClose()
    process = ForkedProcess("none", [], {}, server=server)
    try:
        assert process.wait(1) == -9

        assert process.poll() == -9
    finally:
        process.stderr.close()
        server.close()
