"""One process of a parallel replay: ``python -m cs.assembly.replay_process``."""

import asyncio
import os
import signal
import sys
from typing import IO

from cs.assembly.operator_command import open_command_context
from cs.assembly.parallel_replay import (
    ReplayFailure,
    ReplayJob,
    rare_collections,
    receive,
    replay_of,
    send,
)
from cs.eventlog.errors import LogUnavailable
from cs.history.replay.frames import FrameError
from cs.history.replay.loading import opened_rules
from cs.history.replay.replaying import Chunk
from cs.history.replay.rules import BrokenRules
from cs.settings import Settings


def main() -> None:
    """Compare chunks for whoever has started this process, until nobody wants any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it hears of it, and ends it
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what rules print is no answer
    settings, job = receive(sys.stdin.buffer)
    try:
        asyncio.run(_compare(sys.stdin.buffer, answers, settings, job))
    except FrameError:
        return
    except BrokenRules as broken:
        send(answers, ReplayFailure(str(broken), rules=True))
    except LogUnavailable as error:
        send(answers, ReplayFailure(str(error), rules=False))


async def _compare(
    questions: IO[bytes], answers: IO[bytes], settings: Settings, job: ReplayJob
) -> None:
    async with open_command_context(settings) as data:
        with rare_collections(), opened_rules(job.rules) as rules:
            replay = replay_of(data, job, rules)
            while True:
                chunk: Chunk = await asyncio.to_thread(receive, questions)
                send(answers, await replay.compare(chunk))


if __name__ == "__main__":
    main()
