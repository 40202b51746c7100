"""Where rules come from: today's, a file's, another version's folder, a plug-in's."""

import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from types import CodeType
from typing import Any

import msgspec

from cs.domain.cause import without_people
from cs.domain.contact import (
    BrandFacts,
    LeftOut,
    Opinion,
    Person,
    Query,
    RankedPerson,
    SourceMatches,
)
from cs.domain.mail.conclusion import Conclusion
from cs.domain.mail.mailbox import Evidence, Verdict
from cs.history.replay.other_version import OtherVersion
from cs.history.replay.rules import (
    BrandChoice,
    BrokenRules,
    Ranking,
    ReadVerdict,
    Rules,
    TodaysRules,
)

#: The group of entry points that name rules.
GROUP = "cs.rules"
#: What a file or a plug-in may have of its own.
FUNCTIONS = ("rank", "read_reply", "conclude", "resolve")
#: The longest file of rules, in bytes.
_LONGEST = 1_000_000
#: Arguments of a ``rank`` that is given no opinions.
_RANK_BEFORE = 3


@contextmanager
def opened_rules(said: str | None) -> Iterator[Rules]:
    """Yield the rules that *said* means, until left.

    Args:
        said: A Python file, the folder of another version, the name of an entry point of
            `GROUP`; ``None``: today's.

    Raises:
        BrokenRules: There are none, or they cannot be loaded.
    """
    if said is None:
        yield TodaysRules()
    elif Path(said).is_dir():
        with OtherVersion(Path(said)) as other:
            yield other
    elif Path(said).is_file():
        yield _of_file(Path(said))
    elif said.endswith(".py") or "/" in said:
        raise BrokenRules(f"{said}: no such file or folder")
    else:
        yield _of_entry_point(said)


class OwnRules(TodaysRules):
    """Today's rules with some functions of somebody else's in the place of their own.

    Args:
        name: What they are called to people.
        functions: By name, of `FUNCTIONS`.
        file: Where they stand; lines in it are named when they fail.
    """

    def __init__(self, name: str, functions: Mapping[str, Any], file: str) -> None:
        super().__init__()
        self.name = name
        self._functions = functions
        self._file = file

    def rank(
        self,
        brand: BrandFacts,
        people: Sequence[Person],
        limit: int,
        opinions: Sequence[Opinion] = (),
    ) -> Ranking:
        if "rank" not in self._functions:
            return super().rank(brand, people, limit, opinions)
        given: tuple[object, ...] = (brand, tuple(people), limit)
        if _takes_opinions(self._functions["rank"]):
            given = (*given, tuple(opinions))
        said = self._call("rank", *given)
        try:
            ranked, left_out = (tuple(part) for part in said)
        except (TypeError, ValueError):
            raise self._wrong("rank", said, "who is shown, and who is left out") from None
        there = {person.person for person in people}
        kinds: tuple[tuple[Sequence[Any], type[RankedPerson | LeftOut]], ...] = (
            (ranked, RankedPerson),
            (left_out, LeftOut),
        )
        for people_of, kind in kinds:
            for each in people_of:
                if not isinstance(each, kind):
                    raise self._wrong("rank", each, f"a {kind.__name__}")
                if each.person not in there:
                    raise self._wrong("rank", each.person, "one of the people it was given")
        if len({each.person for each in ranked}) < len(ranked):
            raise self._wrong("rank", "somebody twice", "each of them once")
        return ranked, left_out

    def read_reply(self, evidence: Evidence) -> ReadVerdict | None:
        if "read_reply" not in self._functions:
            return super().read_reply(evidence)
        said = self._call("read_reply", evidence)
        if said is None:
            return None
        verdict, reason = said, evidence.reason
        if isinstance(said, tuple | list) and len(said) == 2:
            verdict, reason = said
        elif isinstance(said, ReadVerdict):
            verdict, reason = said.verdict, said.reason
        try:
            return ReadVerdict(Verdict(verdict), str(reason))
        except ValueError:
            raise self._wrong("read_reply", said, "a verdict, or a verdict and why") from None

    def conclude(self, tried: Mapping[str, Sequence[Evidence]]) -> Conclusion:
        if "conclude" not in self._functions:
            return super().conclude(tried)
        said = self._call("conclude", tried)
        if not isinstance(said, Conclusion):
            raise self._wrong("conclude", said, "a Conclusion")
        return said

    def resolve(self, query: Query, matches: Sequence[SourceMatches]) -> BrandChoice:
        if "resolve" not in self._functions:
            return super().resolve(query, matches)
        said = self._call("resolve", query, tuple(matches))
        try:
            status, facts = (said.status, said.facts) if isinstance(said, BrandChoice) else said
            choice = BrandChoice(status, facts)
            return msgspec.convert(msgspec.to_builtins(choice), BrandChoice)
        except (TypeError, ValueError):
            raise self._wrong("resolve", said, "a status, and the facts of a brand") from None

    def _call(self, name: str, *arguments: object) -> Any:
        try:
            return self._functions[name](*arguments)
        except Exception as error:  # somebody else's code
            raise BrokenRules(describe(error, self._file, f"in {name}()")) from error

    def _wrong(self, name: str, said: object, wanted: str) -> BrokenRules:
        # By kind alone: what it said may name somebody.
        told = said if isinstance(said, str) and " " in said else f"a {type(said).__name__}"
        line = _line_of(self._functions[name])
        return BrokenRules(f"{self._file}{line}: {name}() gave {told}, not {wanted}")


def describe(error: BaseException, file: str, where: str) -> str:
    """Return where in *file* the *error* was raised, and what it is, without what it quotes.

    That may be somebody's name.
    """
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == file
    ]
    line = f", line {lines[-1]}" if lines else ""
    return f"{file}{line}, {where}: {type(error).__name__}: {without_people(str(error))}"


def _of_file(path: Path) -> Rules:
    file = str(path)
    names: dict[str, Any] = {"__name__": "rules", "__file__": file}
    code = _compiled(path)
    try:
        exec(code, names)  # noqa: S102  whoever names the file runs it
    except Exception as error:  # somebody else's code
        raise BrokenRules(describe(error, file, "when it was read")) from error
    return _own(f"rules of {path.name}", names, file)


def _compiled(path: Path) -> CodeType:
    try:
        source = path.read_bytes()
    except OSError as error:
        raise BrokenRules(f"{path} cannot be read: {error.strerror}") from error
    if len(source) > _LONGEST:
        raise BrokenRules(f"{path} is no file of rules: it is longer than {_LONGEST} bytes")
    try:
        return compile(source, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        line = "" if error.lineno is None else f", line {error.lineno}"
        raise BrokenRules(f"{path}{line}: {error.msg}") from error
    except ValueError as error:  # a NUL
        raise BrokenRules(f"{path} is no Python: {error}") from error


def _of_entry_point(name: str) -> Rules:
    points = entry_points(group=GROUP)
    found = [point for point in points if point.name == name]
    if not found:
        there = ", ".join(sorted(point.name for point in points)) or "none is installed"
        raise BrokenRules(
            f"{name!r} is no file, no folder and no entry point of {GROUP}: {there}"
        )
    if len(found) > 1:
        raise BrokenRules(f"several distributions have rules called {name!r}")
    [point] = found
    try:
        plugin = point.load()
    except Exception as error:  # somebody else's code
        raise BrokenRules(f"{point.value}: {type(error).__name__}: {error}") from error
    names = {each: getattr(plugin, each) for each in FUNCTIONS if hasattr(plugin, each)}
    return _own(f"rules {name}", names, getattr(plugin, "__file__", point.value))


def _own(name: str, names: Mapping[str, Any], file: str) -> Rules:
    functions = {each: names[each] for each in FUNCTIONS if callable(names.get(each))}
    if not functions:
        raise BrokenRules(f"{file} defines none of {', '.join(f'{f}()' for f in FUNCTIONS)}")
    # What a file imports of today's under its own name is not its own.
    return OwnRules(name, functions, file)


def _takes_opinions(function: Any) -> bool:
    """Say whether *function* has a fourth argument; those of before have three."""
    code = getattr(function, "__code__", None)
    return isinstance(code, CodeType) and code.co_argcount > _RANK_BEFORE


def _line_of(function: Any) -> str:
    code = getattr(function, "__code__", None)
    return f", line {code.co_firstlineno}" if isinstance(code, CodeType) else ""
