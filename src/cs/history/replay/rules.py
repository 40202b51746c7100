"""The rules that a replay applies: today's, or some of a file in their place."""

import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from cs.domain.cause import without_people
from cs.domain.contact import (
    BrandFacts,
    CheckedPerson,
    LeftOut,
    Opinion,
    Person,
    RankedPerson,
)
from cs.domain.mail.conclusion import Conclusion, concluded
from cs.domain.mail.mailbox import Evidence, Verdict
from cs.domain.ranking import rank
from cs.domain.roles.role import classify
from cs.verifiers.smtp.rereading import ReadVerdict, reread
from cs.verifiers.smtp.verifier import NAME as SMTP

#: Headlines whose roles are remembered, 500 bytes each: every run of a brand finds the same
#: people, and reading a headline takes a third of a millisecond.
_HEADLINES = 20_000

#: The people who are shown, best first, and those who are left out, with the reason.
Ranking = tuple[tuple[RankedPerson, ...], tuple[LeftOut, ...]]
#: The verdict of a conversation on its address; ``None``: the rules give none.
Reading = ReadVerdict | tuple[Verdict, str] | None

#: The functions that a file may define: the type that each returns, and its description.
FUNCTIONS: Mapping[str, tuple[Any, str]] = {
    "rank": (Ranking, "who is shown, as RankedPerson, and who is not, as LeftOut"),
    "read_reply": (Reading, "a verdict and why, or None"),
    "conclude": (Conclusion, "a Conclusion"),
}


class BrokenRules(Exception):
    """The rules failed to load, raised, or returned something else than rules return."""


_role = lru_cache(_HEADLINES)(classify)


def _rank(
    brand: BrandFacts, people: Sequence[Person], limit: int, opinions: Sequence[Opinion]
) -> Ranking:
    return rank(brand, people, limit=limit, read=_role, opinions=opinions)


def _read_reply(evidence: Evidence) -> ReadVerdict | None:
    """Read a conversation of our own verifier; how others read theirs is not known."""
    return reread(evidence) if evidence.verifier == SMTP else None


class Rules(msgspec.Struct, frozen=True):
    """A set of rules; today's by default.  A function of a file may raise `BrokenRules`."""

    name: str = "today's rules"
    rank: Callable[[BrandFacts, Sequence[Person], int, Sequence[Opinion]], Ranking] = _rank
    read_reply: Callable[[Evidence], Reading] = _read_reply
    conclude: Callable[[Mapping[str, Sequence[Evidence]]], Conclusion] = concluded

    def judge(self, checked: CheckedPerson) -> tuple[Conclusion, Sequence[ReadVerdict | None]]:
        """Return the conclusion from the evidence of *checked*, and each verdict in it."""
        if not checked.evidence:  # no verifier was asked
            return Conclusion(checked.verdict, checked.address, checked.verifier), ()
        tried: dict[str, list[Evidence]] = {}
        readings = []
        for found in checked.evidence:
            said = self.read_reply(found)
            reading = ReadVerdict(*said) if isinstance(said, tuple) else said
            readings.append(reading)
            again = found
            if reading is not None:
                again = replace(found, verdict=reading.verdict, reason=reading.reason)
            tried.setdefault(found.address, []).append(again)
        return self.conclude(tried), readings


def load_rules(path: Path) -> Rules:
    """Return the rules that the Python file *path* defines, and today's for the rest.

    Raises:
        BrokenRules: There is no such file, or it does not define rules.
    """
    if path.is_dir():
        raise BrokenRules(
            f"{path} is a folder: run the cs replay of that checkout with --json, and "
            "compare what both print (docs/extending.md)"
        )
    file, names = str(path), dict[str, Any](__name__="rules", __file__=str(path))
    try:
        code = compile(path.read_bytes(), file, "exec", dont_inherit=True)
        exec(code, names)  # noqa: S102  it is run with the rights of who names it
    except Exception as error:  # code of the operator's own
        raise BrokenRules(_described(error, file, "when it was read")) from error
    functions = {
        name: _checked(name, names[name], file)
        for name in FUNCTIONS
        if callable(names.get(name))
    }
    if not functions:
        raise BrokenRules(f"{file} defines none of {', '.join(f'{f}()' for f in FUNCTIONS)}")
    return replace(Rules(f"rules of {path.name}"), **functions)


def _checked(name: str, function: Callable[..., Any], file: str) -> Callable[..., Any]:
    """Return *function*; what it raises, or returns of another type, is `BrokenRules`."""
    type_, wanted = FUNCTIONS[name]
    code = getattr(function, "__code__", None)
    line = "" if code is None else f", line {code.co_firstlineno}"

    def call(*given: Any) -> Any:
        try:
            returned = function(*given)
        except Exception as error:  # code of the operator's own
            raise BrokenRules(_described(error, file, f"in {name}()")) from error
        try:
            return msgspec.convert(msgspec.to_builtins(returned), type_)
        except (TypeError, msgspec.ValidationError) as error:
            why = without_people(str(error))
            raise BrokenRules(f"{file}{line}: {name}() returns {wanted}: {why}") from error

    return call


def _described(error: BaseException, file: str, where: str) -> str:
    """Return where in *file* the *error* was raised, and its words without any quotation."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == file]
    line = f", line {lines[-1]}" if lines else ""
    return f"{file}{line}, {where}: {type(error).__name__}: {without_people(str(error))}"
