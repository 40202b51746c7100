"""Make `cs.client.blocking` of `cs.client.asyncio_client`: the same client without ``await``.

Token by token: ``async`` and ``await`` go, names and sentences of the tables below are
replaced, everything else stays.

``python dev/blocking_client.py`` writes the file.  With ``--check`` it writes nothing, and
exits with 1 if the file is not what would be written.
"""

import argparse
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "cs" / "client" / "asyncio_client.py"
TARGET = SOURCE.with_name("blocking.py")
HEADER = (
    "# Generated from asyncio_client.py by `python dev/blocking_client.py`: change that file.\n"
)
NAMES = {
    "AsyncClient": "Client",
    "AsyncContacts": "Contacts",
    "AsyncFlowRunner": "FlowRunner",
    "AsyncHTTPTransport": "HTTPTransport",
    "AsyncIterator": "Iterator",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "aclose": "close",
    "aclosing": "closing",
    "aiter_bytes": "iter_bytes",
}
#: Whole expressions, before the tokens are looked at.
EXPRESSIONS = {
    "Awaitable[None]": "None",
    "asyncio.sleep": "time.sleep",
}
SENTENCES = {
    "The client for asyncio: ``AsyncClient``.": (
        "The client for programs that wait for each answer: ``Client``."
    ),
    "Use as ``async with``, in one event loop.": "Use as ``with``, from one thread at a time.",
}


def blocking(source: str) -> str:
    """Return the module that does without asyncio what *source* does with it.

    Raises:
        ValueError: An expression or a sentence of the tables is not in *source*.
    """
    for old, new in {**EXPRESSIONS, **SENTENCES}.items():
        if old not in source:
            raise ValueError(f"{SOURCE.name} has no {old!r}")
        source = source.replace(old, new)
    return _ruff("format", _ruff("check", HEADER + _without_await(source)))


def _without_await(source: str) -> str:
    """Return *source* without ``async`` and ``await``, the names of `NAMES` replaced."""
    lines = source.splitlines(keepends=True)
    edits = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        (row, begin), (_, end) = token.start, token.end
        if token.type == tokenize.STRING and token.string[1:-1] in NAMES:
            edits.append((row, begin + 1, end - 1, NAMES[token.string[1:-1]]))
        elif token.type != tokenize.NAME:
            continue
        elif token.string in {"async", "await"}:
            space = re.match(r"\s*", lines[row - 1][end:])
            edits.append((row, begin, end + (space.end() if space else 0), ""))
        elif token.string in NAMES:
            edits.append((row, begin, end, NAMES[token.string]))
    for row, begin, end, new in reversed(edits):
        line = lines[row - 1]
        lines[row - 1] = line[:begin] + new + line[end:]
    return "".join(lines)


def _ruff(command: str, source: str) -> str:
    """Return *source* with its imports sorted and the unused ones gone, or formatted."""
    fixing = ["--fix-only", "--select=I,F401,F811"] if command == "check" else []
    ruff = Path(sys.executable).with_name("ruff")
    name = f"--stdin-filename={TARGET}"
    done = subprocess.run(
        [ruff, command, "--quiet", *fixing, name, "-"],
        input=source,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1")
    check = parser.parse_args().check
    made = blocking(SOURCE.read_text("utf-8"))
    if not check:
        TARGET.write_text(made, "utf-8")
    elif TARGET.read_text("utf-8") != made:
        where = TARGET.relative_to(ROOT)
        sys.exit(f"{where} is not made from {SOURCE.name}; run: python {sys.argv[0]}")


if __name__ == "__main__":
    main()
