"""Say what the documents and the code's citations name and is not there.

Reads files only, in about a second.  Checked are: citations of rows of the contract
(``contract H6``, ``contract text 8``), mentions of documents (``docs/topics.md``, with or
without a heading in quotes behind it), links between documents and their anchors, files and
names of code in the documents, the indexes.  Exits with 1 and a line
for each finding.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache, cached_property
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Where text that cites is looked for.  Golden files are what was once
#: written, and the test of this module cites what is not there.
FOLDERS = ("src", "tests", "bench", "dev", "deploy", "docs")
SUFFIXES = {".py", ".md", ".toml", ".yaml", ".json", ".sql", ".sh", ".template"}
LEFT_OUT = {"golden", "__pycache__", "node_modules", "test_check_docs.py"}
#: History: its links lead somewhere, but it may name what is no more.
HISTORY = re.compile(r"CHANGELOG\.md|docs/decisions/")

CITATION = re.compile(
    r"\b[Cc]ontract\s+(?:text\s+(?P<text>\d(?:\.\d)?(?:-[a-z]+)*)"
    r"|(?P<rows>[A-Z]\d+[a-z]?(?:(?:,|,? and| to)\s+[A-Z]\d+[a-z]?)*))\b"
)
ROW = re.compile(
    r'^\| <a id="(?P<anchor>[\w-]+)"></a>(?P<row>\S+) \| (?P<promise>.*?) \|', re.MULTILINE
)
DOCUMENT = re.compile(r'(?<!\]\()\bdocs/(?P<page>[\w/-]+\.md)(?:, "(?P<heading>[^"\n]+)")?')
DECISION = re.compile(
    r"\bdocs/decisions/(?P<number>\d{4})\b|\bdocs/decisions, (?P<short>\d+)\b"
)
#: Documents by a name in capitals, such as README.md, are in the repository or not named.
CAPITALS = re.compile(r"(?<![\w/.-])(?:[\w-]+/)*(?P<page>[A-Z]{3,}\.md)\b")
LINK = re.compile(r"\]\((?P<target>[^()\s]+)\)")
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
FENCE = re.compile(r"^( *)```.*?^\1```\s*$", re.MULTILINE | re.DOTALL)

#: A file or folder: has a slash, and ends with one or with a suffix.
PATH = re.compile(
    r"(?:[\w.*-]+/)+(?:[\w*-]+\.(?:py|md|toml|json|sql|txt|ya?ml|conf))?(?:::\w+)?"
)
#: A file of a package that `cs new` writes.
WRITTEN = re.compile(r"cs([-_])(?:source|verifier|stage)\1\w[\w-]*/.+")
FILE = re.compile(r"\w+\.py")
MODULE = re.compile(r"cs(?:\.\w+)+")
#: ``ClassNames``, ``functions()``, ``CONSTANTS_OF_OURS``, also behind a module or a class.
NAME = re.compile(
    r"(?:\w+\.)*(?P<name>[A-Z][a-z]+(?:[A-Z][a-z]*)+|[A-Z]+(?:_[A-Z]+)+|\w+(?=\(\)))(?:\(\))?"
)
#: Names in documents that others gave.
FOREIGN = {
    *("AlterConfigs", "DescribeConfigs", "LoadCredential", "StandardAuthorizer"),
    *("CREDENTIALS_DIRECTORY", "JAVA_HOME"),
    *("OTEL_EXPORTER_OTLP_CERTIFICATE", "OTEL_EXPORTER_OTLP_HEADERS"),
}


class Tree:
    """What is in a checkout: its texts, and the names that its code has."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.texts = {path: path.read_text("utf-8") for path in self._files()}
        code = "\n".join(text for path, text in self.texts.items() if path.suffix != ".md")
        self.words = set(re.findall(r"\w+", code))
        self.modules = {path.name for path in self.texts if path.suffix == ".py"}
        self.documents = {path.name for path in self.pages}

    def _files(self) -> Iterator[Path]:
        yield from sorted(self.root.glob("*.md"))
        for folder in FOLDERS:
            for path in sorted((self.root / folder).rglob("*")):
                if (
                    path.suffix in SUFFIXES
                    and not LEFT_OUT & set(path.parts)
                    and path.is_file()
                ):
                    yield path

    @cached_property
    def pages(self) -> dict[Path, str]:
        """Documents for people: those of the root and of ``docs``."""
        docs = self.root / "docs"
        return {
            path: text
            for path, text in self.texts.items()
            if path.suffix == ".md" and (path.parent == self.root or docs in path.parents)
        }

    def name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def is_there(self, name: str) -> bool:
        """Return whether *name*, a pattern, is in the root, the package or ``deploy``."""
        plain = name.rstrip("/")
        source = self.root / "src"
        bases = (self.root, source, source / "cs", self.root / "deploy")
        return any(any(base.glob(plain)) for base in bases)


def problems(root: Path) -> list[str]:
    """Return what is wrong, ``file:line: what`` or ``file: what``, in the order of files."""
    tree = Tree(root)
    found = [*contract_rows(tree), *decisions_index(tree), *index(tree)]
    found += layers(tree)
    cited = rows_of(tree)
    for path, text in tree.texts.items():
        found += [
            f"{tree.name(path)}:{line}: {what}" for line, what in cites(tree, cited, text)
        ]
        if path in tree.pages:
            found += [f"{tree.name(path)}:{line}: {what}" for line, what in links(path, text)]
            if not HISTORY.match(tree.name(path)):
                found += [
                    f"{tree.name(path)}:{line}: {what}" for line, what in names(tree, text)
                ]
    return found


def contract_rows(tree: Tree) -> Iterator[str]:
    """Yield where the page of the contract and the list of its tests differ."""
    listed = tomllib.loads((tree.root / "tests/conformance/contract.toml").read_text("utf-8"))
    listed.pop("in_process", None)
    promised = {row: promise for table in listed.values() for row, promise in table.items()}
    page = (tree.root / "docs/contract.md").read_text("utf-8")
    shown = {match["row"]: match for match in ROW.finditer(page)}
    for row in promised.keys() - shown.keys():
        yield f"docs/contract.md: no row {row}, which contract.toml has"
    for row in shown.keys() - promised.keys():
        yield f"docs/contract.md: row {row} is not in contract.toml"
    for row in sorted(shown.keys() & promised.keys()):
        if shown[row]["promise"] != promised[row]:
            yield f'docs/contract.md: row {row} is "{promised[row]}" in contract.toml'
        if shown[row]["anchor"] != row.lower().replace(".", "-"):
            yield f"docs/contract.md: row {row} has the anchor of another"


def rows_of(tree: Tree) -> set[str]:
    """Return what can be cited: ``H6``, ``text 2.2``, ``text 8``."""
    page = (tree.root / "docs/contract.md").read_text("utf-8")
    rows = {match["row"] for match in ROW.finditer(page)}
    sections = {
        f"text {number}" for number in re.findall(r"^### Text (\d):", page, re.MULTILINE)
    }
    return rows | {f"text {row}" for row in rows if row[0].isdigit()} | sections


def cites(tree: Tree, cited: set[str], text: str) -> Iterator[tuple[int, str]]:
    """Yield citations of rows, documents and headings that lead nowhere."""
    # A citation may go on in the next line: of a comment, or of a string in two parts.
    flat = re.sub(r"""(['"])\n[ \t]*f?\1""", "\n", text)
    flat = re.sub(
        r"\n[ \t]*(?:#:?|--)?[ \t]*", lambda each: "\n" + " " * (len(each[0]) - 1), flat
    )
    for match in CITATION.finditer(flat):
        if match["text"]:
            rows = [f"text {match['text']}"]
        else:
            rows = re.findall(r"[A-Z]\d+[a-z]?", match["rows"])
        for row in set(rows) - cited:
            yield line_of(flat, match), f"contract {row} is no row of docs/contract.md"
    for match in DOCUMENT.finditer(re.sub(r"\s", " ", flat)):
        if why := missing_heading(tree, match["page"], match["heading"]):
            yield line_of(flat, match), why
    for match in DECISION.finditer(flat):
        number = (match["number"] or match["short"]).zfill(4)
        if not any((tree.root / "docs/decisions").glob(f"{number}-*.md")):
            yield line_of(flat, match), f"there is no decision {number}"
    for match in CAPITALS.finditer(flat):
        if match["page"] not in tree.documents:
            yield line_of(flat, match), f"{match['page']} is not in the repository"


def missing_heading(tree: Tree, name: str, heading: str | None) -> str | None:
    page = tree.root / "docs" / name
    if not page.is_file():
        return f"docs/{name} is not there"
    if heading and slug(heading := re.sub(r"\s+", " ", heading)) not in anchors(page):
        return f'docs/{name} has no heading "{heading}"'
    return None


def links(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Yield links that lead to no file, or to no place in it."""
    for match in LINK.finditer(without_code(text)):
        target, _, anchor = match["target"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        there = (path.parent / target).resolve() if target else path
        if not there.exists():
            yield line_of(text, match), f"the link to {target} leads nowhere"
        elif anchor and there.suffix == ".md" and anchor not in anchors(there):
            yield line_of(text, match), f"{target or 'this page'} has no #{anchor}"


def names(tree: Tree, text: str) -> Iterator[tuple[int, str]]:
    """Yield files, modules and names of code that are not there."""
    prose = FENCE.sub(lambda each: re.sub(r"[^\n]", " ", each[0]), text)
    for match in SPAN.finditer(prose):
        why = missing(tree, match[1])
        if why is not None:
            yield line_of(prose, match), why


def missing(tree: Tree, span: str) -> str | None:
    if PATH.fullmatch(span):
        return missing_path(tree, span)
    if FILE.fullmatch(span):
        if span not in tree.modules:
            return f"no module is called {span}"
    elif MODULE.fullmatch(span):
        return missing_module(tree, span)
    elif match := NAME.fullmatch(span):
        name = match["name"]
        if name not in tree.words | FOREIGN and not name.startswith("CS_"):
            return f"nothing in the code is called {name}"
    return None


def missing_path(tree: Tree, span: str) -> str | None:
    path, _, test = span.partition("::")
    first = path.partition("/")[0]
    if WRITTEN.fullmatch(path):
        return None
    if first in {"build", "data"} or not (tree.is_there(first) or path.endswith(".py")):
        return None  # a path of the reader's, or a media type
    if not tree.is_there(path):
        return f"{path} is not there"
    return f"{path} has no {test}" if test and test not in tree.words else None


def missing_module(tree: Tree, dotted: str) -> str | None:
    """Return what is wrong with ``cs.a.b``, unless ``cs.a`` is a topic or a kind of plug-in."""
    place, rest = tree.root / "src" / "cs", dotted.split(".")[1:]
    if not (place / rest[0]).is_dir() and not (place / f"{rest[0]}.py").is_file():
        return None
    while rest and (place / rest[0]).is_dir():
        place /= rest.pop(0)
    module = place / "__init__.py"
    if rest and (place / f"{rest[0]}.py").is_file():
        module = place / f"{rest.pop(0)}.py"
    if rest and rest[0] not in defined(module):
        return f"{dotted}: {module.relative_to(tree.root).as_posix()} has no {rest[0]}"
    return None


@cache
def defined(module: Path) -> frozenset[str]:
    """Return the names that *module* defines or imports at its top."""
    found: set[str] = set()
    for node in ast.parse(module.read_text("utf-8")).body:
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                found.add(node.name)
            case ast.Import() | ast.ImportFrom():
                found.update(each.asname or each.name for each in node.names)
            case _:
                found.update(each.id for each in ast.walk(node) if isinstance(each, ast.Name))
    return frozenset(found)


def decisions_index(tree: Tree) -> Iterator[str]:
    """Yield decisions that share a number, or that the index lacks or calls otherwise."""
    index = (tree.root / "docs/decisions/README.md").read_text("utf-8")
    listed = {
        name: (int(number), title)
        for number, name, title in re.findall(
            r"^\| \[(\d+)\]\(([\w-]+\.md)\) \| (.+) \|$", index, re.MULTILINE
        )
    }
    files = {path.name: path for path in (tree.root / "docs/decisions").glob("[0-9]*.md")}
    numbers = [name[:4] for name in files]
    for number in sorted({each for each in numbers if numbers.count(each) > 1}):
        yield f"docs/decisions: two decisions have the number {number}"
    for name in sorted(files.keys() - listed.keys()):
        yield f"docs/decisions/README.md: {name} is not listed"
    for name, (number, title) in listed.items():
        heading = files[name].read_text("utf-8").partition("\n")[0] if name in files else ""
        if heading and heading != f"# {number}. {title}":
            yield f'docs/decisions/README.md: {name} has the heading "{heading}"'


def layers(tree: Tree) -> Iterator[str]:
    """Yield where the table of packages is not the order that `lint-imports` keeps."""
    read = tomllib.loads((tree.root / "pyproject.toml").read_text("utf-8"))
    contracts = read["tool"]["importlinter"]["contracts"]
    kept = next(each["layers"] for each in contracts if each.get("containers") == ["cs"])
    text = (tree.root / "docs/architecture.md").read_text("utf-8")
    table = text.partition("| Package | Holds |\n")[2].partition("\n\n")[0]
    shown = [" | ".join(SPAN.findall(row.split(" | ")[0])) for row in table.splitlines()[1:]]
    if shown != kept:
        wrong = next((a or b for a, b in zip_longest(shown, kept) if a != b), "")
        yield f"docs/architecture.md: not the layers of pyproject.toml, from {wrong}"


def index(tree: Tree) -> Iterator[str]:
    """Yield pages that the page by reader does not lead to."""
    text = (tree.root / "docs/README.md").read_text("utf-8")
    for page in sorted((tree.root / "docs").glob("*.md")):
        if page.name != "README.md" and f"({page.name})" not in text:
            yield f"docs/README.md: no link leads to {page.name}"


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the places in *page* that a link may lead to, as GitHub makes them."""
    text = FENCE.sub("", page.read_text("utf-8"))
    seen: dict[str, int] = {}
    found = set(re.findall(r'<a id="([\w-]+)"></a>', text))
    for heading in re.findall(r"^#+ (.+?)\s*$", text, re.MULTILINE):
        anchor = slug(heading)
        found.add(f"{anchor}-{seen[anchor]}" if anchor in seen else anchor)
        seen[anchor] = seen.get(anchor, 0) + 1
    return frozenset(found)


def slug(heading: str) -> str:
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


def without_code(text: str) -> str:
    """Return *text* with blanks where code is, so that lines stay where they are."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match[0])

    return SPAN.sub(blank, FENCE.sub(blank, text))


def line_of(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.start()) + 1


def main() -> int:
    found = problems(ROOT)
    for each in found:
        print(each)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
