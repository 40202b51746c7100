"""Say where the answers in the documents are not what the commands answer, or write them.

Pages show commands on the year of ``cs demo --history``, each with its output:

    ```console
    $ cs keys list --data-dir cs-history
    …
    ```

and programs, ```python blocks with what they print in the ```text block behind.  Each is run
in a folder that holds a year made just now, as ``cs-history``.  That year is the same every
time, but for what is random: ids, pseudonyms, parts of minutes.  So ids are compared by
where they stand, and an id that a command names is the one that stood there now.

    python dev/answers.py [--write] FOLDER PAGE...

FOLDER holds ``cs-history``; exits with 1 and the differences.
"""

import argparse
import difflib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: Where ``cs`` is.
PROGRAMS = Path(sys.executable).parent
#: Columns of the terminal that the answers are made for.
COLUMNS = "96"
#: Longest that one command may take, seconds.
TIME_LIMIT_S = 120

BLOCK = re.compile(
    r"```(?:console\n(?P<commands>\$ .*?)"
    r"|python\n(?P<program>.*?)```\n+```text\n(?P<printed>.*?))```",
    re.DOTALL,
)
#: One line, more of them behind a backslash, or up to the word that ends a file within it.
COMMAND = re.compile(r"(?:.*\\\n)*(?:.*<<'(?P<end>\w+)'.*\n(?:.*\n)*?(?P=end)\n|.*\n)")
#: Random: lookups, erased people, what is called by its kind (``key_…``) with a digit
#: somewhere in it, and pseudonyms, some of which have no digit.
ID = re.compile(
    r"\bbrand-[0-9a-f]{32}\.\d+-[0-9a-z]+|\bperson-[0-9a-f]{64}\b"
    r"|\b[a-z]+_(?=[a-z]*\d)[0-9a-z]{10,64}\b|\bperson_[0-9a-z]{16}\b"
)
#: Differs from run to run, and has no place: parts of minutes, sizes, how long it took.
VARYING = (
    # Of a key's secret, the end.
    (re.compile(r"^(key_\S+  +(?:\S| (?! ))+  +)\S{4}(?=  )", re.MULTILINE), r"\1LAST"),
    (re.compile(r'(?<="last4": ")[^"]+'), "LAST"),
    (ID, "ID"),
    (re.compile(r"(?<=\d\d:\d\d):\d\d(?:\.\d+)?"), ":SS"),
    (re.compile(r"\d+(?:\.\d+)?(?= ?(?:ms|s|B|kB|KB|MB|KiB|MiB)\b)"), "N"),
    (re.compile(r"(?<=_ms\":)\d+(?:\.\d+)?"), "N"),
    (re.compile(r"[━─]+"), "─"),
    (re.compile(r"[ \t]+"), " "),
)


@dataclass
class Answers:
    """Runs what pages show, in *folder*.

    Attributes:
        ids: By an id that stands in a page, the one that stands there now.
        different: A description of each answer that is not what a page shows.
    """

    folder: Path
    ids: dict[str, str] = field(default_factory=dict)
    different: list[str] = field(default_factory=list)

    def renewed(self, page: str, name: str) -> str:
        """Return the text *page* with today's answers, and note which are different."""
        pieces, end = [], 0
        for block in BLOCK.finditer(page):
            pieces += [page[end : block.start()], self._renewed_block(block, name)]
            end = block.end()
        return "".join([*pieces, page[end:]])

    def _renewed_block(self, block: re.Match[str], name: str) -> str:
        if block["program"] is not None:
            program = self._now(block["program"])
            printed = self._run([sys.executable, "-c", program])
            self._compare(f"{name}: a program", block["printed"], printed)
            return f"```python\n{program}```\n\n```text\n{printed}```"
        shown = []
        for command, before in commands(block["commands"]):
            now = self._now(command)
            printed = self._run(["sh", "-c", now])
            self._compare(f"{name}: {now}", before, printed)
            shown.append(f"$ {now}\n{printed}")
        return "```console\n" + "".join(shown) + "```"

    def _now(self, text: str) -> str:
        """Return *text* with the ids of now."""
        return ID.sub(lambda match: self.ids.get(match[0], match[0]), text)

    def _run(self, words: list[str]) -> str:
        dropped = ("CS_", "PYTHONUNBUFFERED")
        environment = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
        done = subprocess.run(
            words,
            cwd=self.folder,
            env=environment | {"COLUMNS": COLUMNS, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIME_LIMIT_S,
            check=False,
        )
        if done.returncode:
            return f"{done.stdout}exit code {done.returncode}: {done.stderr}"
        # A line of output that looks like a command is indented: it is not one when read again.
        lines = (re.sub(r"^\$ ", " $ ", line.rstrip()) for line in done.stdout.splitlines())
        return "".join(f"{line}\n" for line in lines)

    def _compare(self, what: str, before: str, now: str) -> None:
        for old, new in zip(ID.findall(before), ID.findall(now), strict=False):
            self.ids.setdefault(old, new)
        old_lines, new_lines = comparable(before), comparable(now)
        if old_lines != new_lines:
            lines = difflib.unified_diff(old_lines, new_lines, "shown", "now", lineterm="", n=1)
            self.different.append("\n".join([what, *lines]))


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a console *block*, with the output that is shown below it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command = COMMAND.match(part)
        assert command is not None, "every line ends"
        yield command[0].rstrip("\n"), part[command.end() :]


def comparable(text: str) -> list[str]:
    """Return the lines of *text* without what differs from run to run."""
    for pattern, instead in VARYING:
        text = pattern.sub(instead, text)
    return [line.strip() for line in text.splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write today's answers")
    parser.add_argument("folder", type=Path, help="holds cs-history")
    parser.add_argument("pages", type=Path, nargs="+")
    chosen = parser.parse_args()
    answers = Answers(chosen.folder)
    for page in chosen.pages:
        renewed = answers.renewed(page.read_text(), page.name)
        if chosen.write:
            page.write_text(renewed)
    print(*answers.different, sep="\n\n")
    return int(bool(answers.different) and not chosen.write)


if __name__ == "__main__":
    sys.exit(main())
