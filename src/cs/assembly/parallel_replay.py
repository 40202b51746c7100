"""A replay by several processes, each with the data and the rules open by itself.

A process (`cs.assembly.replay_process`) is told on its standard input what to open and then
chunks, and answers on its standard output: frames of `cs.history.replay.frames`.
"""

import asyncio
import gc
import pickle
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any

import msgspec

from cs.assembly.operator_command import CommandContext
from cs.eventlog.errors import LogUnavailable
from cs.history.replay.frames import FrameError, read_frame, write_frame
from cs.history.replay.loading import opened_rules
from cs.history.replay.recorded import Kind
from cs.history.replay.replaying import Chunk, ComparedBrand, Replay
from cs.history.replay.rules import BrokenRules, Rules
from cs.settings import Settings

#: Chunks that a process is given before the first of them is asked back: it does not wait
#: for the one that puts the answers in order.
AHEAD = 2
#: As `gc.set_threshold` takes it: some chunks' objects; the default are 700.
_RARELY = (100_000, 20, 20)
#: How long a process may take to end, in seconds.
_LEAVING_S = 5


class ReplayJob(msgspec.Struct, frozen=True):
    """What is run again, and by which rules (`cs.history.replay.loading`).

    *reveals*: whether differences say who people are.
    """

    kind: Kind
    rules: str | None = None
    reveals: bool = False


class ReplayFailure(msgspec.Struct, frozen=True):
    """What ended a process: its words, and whether it is the rules that failed."""

    why: str
    rules: bool


async def replayed(
    data: CommandContext,
    settings: Settings,
    job: ReplayJob,
    portions: Sequence[Chunk],
    processes: int,
) -> AsyncGenerator[list[ComparedBrand], None]:
    """Yield what each of *portions* came to, in their order whatever *processes* there are.

    Raises:
        LogUnavailable, BrokenRules: As `Replay.compare`.
    """
    if processes == 1 or len(portions) < 2:
        with rare_collections(), opened_rules(job.rules) as rules:
            replay = replay_of(data, job, rules)
            for chunk in portions:
                yield await replay.compare(chunk)
        return
    with _started(settings, job, min(processes, len(portions))) as running:
        sent = 0
        for number in range(len(portions)):
            while sent < min(number + AHEAD * len(running), len(portions)):
                send(running[sent % len(running)].stdin, portions[sent])
                sent += 1
            yield await asyncio.to_thread(_received, running[number % len(running)])


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let Python look for garbage in cycles less often, until left.

    A replay makes many objects and hardly a cycle; looking for some took a tenth to a sixth of
    its processor time.  What is there before is left out of it.
    """
    often = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*_RARELY)
    try:
        yield
    finally:
        gc.set_threshold(*often)
        gc.unfreeze()


def replay_of(data: CommandContext, job: ReplayJob, rules: Rules) -> Replay:
    """Return what does *job* on *data*."""
    return Replay(data.log, data.keys, job.kind, rules=rules, reveals=job.reveals)


@contextmanager
def _started(
    settings: Settings, job: ReplayJob, processes: int
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Yield so many processes, which end on leaving."""
    running: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(processes):
            process = subprocess.Popen(
                [sys.executable, "-m", "cs.assembly.replay_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            running.append(process)
            send(process.stdin, (settings, job))
        yield running
    finally:
        for process in running:
            with suppress(OSError):
                process.kill()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):  # what was not sent is not wanted any more
                        pipe.close()
            process.wait(_LEAVING_S)


def send(pipe: IO[bytes] | None, value: object) -> None:
    """Send *value* to the process at the other end of *pipe*, if it is there still."""
    assert pipe is not None
    with suppress(BrokenPipeError):  # why it ended is read next
        write_frame(pipe, pickle.dumps(value))


def receive(pipe: IO[bytes]) -> Any:
    """Return the next value.

    Raises:
        FrameError: There is none any more.
    """
    return pickle.loads(read_frame(pipe))  # noqa: S301  from a process of ours


def _received(process: subprocess.Popen[bytes]) -> list[ComparedBrand]:
    assert process.stdout is not None
    try:
        compared = receive(process.stdout)
    except FrameError as error:
        raise LogUnavailable("a process of the replay has ended") from error
    if isinstance(compared, ReplayFailure):
        raise BrokenRules(compared.why) if compared.rules else LogUnavailable(compared.why)
    brands: list[ComparedBrand] = compared
    return brands
