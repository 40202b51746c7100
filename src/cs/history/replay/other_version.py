"""The rules of another version of the service, run in a process of its own.

Two versions of the same modules cannot be in one process.  The other one is started with this
interpreter and its own ``src`` in front, and answers questions over pipes
(`cs.history.replay.serving`, of that version): frames of a length, four bytes, and msgpack.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from threading import Timer
from types import TracebackType
from typing import IO, Any, Self, TypeVar

import msgspec

from cs.domain.contact import BrandFacts, CheckedPerson, Opinion, Person, Query, SourceMatches
from cs.history.replay.frames import (
    ANSWERS,
    FrameError,
    Judge,
    Question,
    Rank,
    ReplayAnswer,
    Resolve,
    read_frame,
    write_frame,
)
from cs.history.replay.rules import BrandChoice, BrokenRules, Judgement, Ranking

#: How long one answer may take, in seconds, and the start.
ANSWER_S = 60.0
#: What is told of the end of what it said when it could not start, in characters.
_TOLD = 500

T = TypeVar("T")


class OtherVersion:
    """Use as ``with``.

    Args:
        folder: A checkout of the service, such as a git worktree, with ``src/cs`` in it.

    Raises:
        BrokenRules: On entering: it has none, or cannot be started.
    """

    def __init__(self, folder: Path, *, answer_s: float = ANSWER_S) -> None:
        self.name = f"rules of {folder}"
        self._source = folder.resolve() / "src"
        self._folder = folder
        self._answer_s = answer_s
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None

    def __enter__(self) -> Self:
        if not (self._source / "cs").is_dir():
            raise BrokenRules(f"{self._folder} is no checkout of the service: no src/cs in it")
        if not (self._source / "cs/history/replay/serving.py").is_file():
            raise BrokenRules(f"{self._folder} is of a version that cannot be asked: too old")
        self._said = tempfile.TemporaryFile()
        # Nothing of our environment is a setting there.
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("CS_", "PYTHON"))}
        self._process = subprocess.Popen(  # noqa: S603  whoever names the folder runs it
            [sys.executable, "-P", "-m", "cs.history.replay.serving", str(self._source)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env={**kept, "PYTHONPATH": str(self._source)},
            cwd=self._folder,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        process = self._process
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
            process.wait()
        if self._said is not None:
            self._said.close()

    def rank(
        self,
        brand: BrandFacts,
        people: Sequence[Person],
        limit: int,
        opinions: Sequence[Opinion] = (),
    ) -> Ranking:
        ranking: Ranking = self._ask(Rank(brand, tuple(people), limit, tuple(opinions)))
        return ranking

    def judge(self, checks: Sequence[CheckedPerson]) -> Sequence[Judgement]:
        judgements: tuple[Judgement, ...] = self._ask(Judge(tuple(checks)))
        if len(judgements) != len(checks):
            raise BrokenRules(f"{self.name} judged {len(judgements)} of {len(checks)} checks")
        return judgements

    def resolve(self, query: Query, matches: Sequence[SourceMatches]) -> BrandChoice:
        choice: BrandChoice = self._ask(Resolve(query, tuple(matches)))
        return choice

    def _ask(self, question: Question) -> Any:
        process = self._process
        assert process is not None, "not entered"
        assert process.stdin is not None
        assert process.stdout is not None
        watch = Timer(self._answer_s, process.kill)  # it reads no more, or writes no more
        watch.start()
        try:
            write_frame(process.stdin, msgspec.msgpack.encode(question))
            frame = read_frame(process.stdout)
            answer = msgspec.msgpack.decode(frame, type=ReplayAnswer)
            if answer.broken is not None:
                raise BrokenRules(f"{self.name}: {answer.broken}")
            return msgspec.msgpack.decode(answer.value, type=ANSWERS[type(question)])
        except (OSError, FrameError) as error:
            raise BrokenRules(f"{self.name} ended: {self._last_words()}") from error
        except msgspec.MsgspecError as error:
            raise BrokenRules(f"{self.name} answered in another shape: {error}") from error
        finally:
            watch.cancel()

    def _last_words(self) -> str:
        assert self._said is not None
        self._said.seek(0, os.SEEK_END)
        self._said.seek(max(self._said.tell() - 4 * _TOLD, 0))
        said = self._said.read().decode(errors="replace").strip()
        last = said.splitlines()[-1] if said else f"it gave no answer in {self._answer_s:g} s"
        return last[-_TOLD:]
