"""Every ``cs`` command line in the documents is one that the command line takes."""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from cyclopts import CycloptsError, MissingArgumentError

from harness.every_row import check_every

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
#: What ends a command's own words in a shell.
ENDS = re.compile(r"[|<>;&()]+")
#: Words of a command as it is spoken of, `cs … --help`: any.
ELIDED = {"…", "...", "ROLE", "NAME"}


def documented() -> Iterator[tuple[str, bool, list[str]]]:
    """Yield (page, whether it is whole, words after ``cs``); a mention may leave out words."""
    for page in PAGES:
        text = page.read_text()
        for language, block in re.findall(r"```(\w*)\n(.*?)```", text, re.DOTALL):
            for words in in_shell(language, block.replace("\\\n", " ")):
                yield page.name, True, words
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        for span in re.findall(r"`([^`\n]+)`", prose):
            if re.match(r"([A-Z_]+=\S+ )*(\S*/)?cs ", span):
                yield from ((page.name, False, words) for words in after_cs(span))


def in_shell(language: str, block: str) -> Iterator[list[str]]:
    """Yield the commands of a console (behind its prompts) or of a script."""
    for line in block.splitlines():
        if language == "console" and line.startswith("$ "):
            yield from after_cs(line.removeprefix("$ "))
        elif language == "sh":
            yield from after_cs(line)


def after_cs(line: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|<>;&()")
    lexer.whitespace_split = True
    words: list[str] | None = None
    for word in lexer:
        if words is None:
            words = [] if word.rpartition("/")[2] == "cs" else None
        elif ENDS.fullmatch(word):
            yield words
            words = None
        else:
            words.append(word)
    if words is not None:
        yield words


FOUND = [each for each in documented() if not ELIDED & set(each[2])]


def test_commands_are_found_in_blocks_and_in_sentences() -> None:
    assert ("README.md", True, ["search", "Veltrana"]) in FOUND
    assert ("settings.md", False, ["config", "show"]) in FOUND
    assert list(after_cs("A=b x/cs keys list --json | grep x; cs pause > y")) == [
        ["keys", "list", "--json"],
        ["pause"],
    ]


def test_a_documented_command_is_one(bound_to: Callable[[Sequence[str]], list[str]]) -> None:
    def check(found: tuple[str, bool, list[str]]) -> None:
        page, whole, words = found
        command = f"{page}: cs {shlex.join(words)}"
        try:
            unknown = [word for word in bound_to(words) if word.startswith("--")]
        except MissingArgumentError as error:
            if whole:
                raise AssertionError(f"{command}: {error}") from error
        except CycloptsError as error:
            raise AssertionError(f"{command}: {error}") from error
        else:
            assert not unknown, f"{command}: no option {unknown}"

    check_every(FOUND, check)
