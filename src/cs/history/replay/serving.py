"""This version's rules for another version that asks: ``python -m cs.history.replay.serving``.

Questions come on standard input and answers go to standard output, until it is closed.
"""

import os
import sys
import traceback
from pathlib import Path
from typing import IO, Any

import msgspec

import cs
from cs.domain.cause import without_people
from cs.history.replay.frames import (
    FrameError,
    Judge,
    Question,
    Rank,
    ReplayAnswer,
    Resolve,
    read_frame,
    write_frame,
)
from cs.history.replay.rules import Rules, TodaysRules


def serve(questions: IO[bytes], answers: IO[bytes], rules: Rules) -> None:
    """Answer *questions* by *rules* until there are no more."""
    while True:
        try:
            frame = read_frame(questions)
        except FrameError:
            return
        write_frame(answers, msgspec.msgpack.encode(_answer(frame, rules)))


def _answer(frame: bytes, rules: Rules) -> ReplayAnswer:
    try:
        question: Question = msgspec.msgpack.decode(frame, type=Question)
        value = msgspec.msgpack.encode(_answered(question, rules))
    except Exception as error:  # noqa: BLE001  rules that are being written
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{last.filename}, line {last.lineno}, in {last.name}()"
        return ReplayAnswer(
            broken=f"{place}: {type(error).__name__}: {without_people(str(error))}"
        )
    return ReplayAnswer(msgspec.Raw(value))


def _answered(question: Question, rules: Rules) -> Any:
    match question:
        case Rank(brand=brand, people=people, limit=limit, opinions=opinions):
            return rules.rank(brand, people, limit, opinions)
        case Judge(checks=checks):
            return tuple(rules.judge(checks))
        case Resolve(query=query, matches=matches):
            return rules.resolve(query, matches)


def main(source: str) -> None:
    """Serve; *source* is where this version is to be."""
    if not Path(cs.__file__).is_relative_to(source):
        sys.exit(f"{source} was asked for, and {cs.__file__} would have answered")
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what rules print is no answer
    serve(sys.stdin.buffer, answers, TodaysRules())


if __name__ == "__main__":
    main(sys.argv[1])
