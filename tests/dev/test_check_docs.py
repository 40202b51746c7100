"""What `make check` says of documents, citations and names of code that lead nowhere."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

DEV = Path(__file__).parents[2] / "dev"

CONTRACT = """# The contract

| Row | Promise | Exactly, and why |
| --- | --- | --- |
| <a id="h6"></a>H6 | each response has a request id |  |
| <a id="h7"></a>H7 | nothing is cached |  |

### Text 2: fields

| Row | Promise | Exactly, and why |
| --- | --- | --- |
| <a id="2-2"></a>2.2 | fields of a contact |  |
"""
LISTED = """[http]
H6 = "each response has a request id"
H7 = "nothing is cached"
[text]
"2.2" = "fields of a contact"
[in_process]
H6 = "tests/test_ids.py::test_it"
"""
LAYERS = "| Package | Holds |\n| --- | --- |\n| `api` | a |\n| `bus`, `log` | b |\n\nMore.\n"
PROJECT = """[[tool.importlinter.contracts]]
containers = ["cs"]
layers = ["api", "bus | log"]
"""
INDEX = "| | |\n| --- | --- |\n| [1](0001-one.md) | One result |\n"


@pytest.fixture(scope="module")
def check_docs() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("check_docs", DEV / "check_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["check_docs"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["check_docs"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a repository in which everything leads somewhere."""
    for name, text in {
        "docs/contract.md": CONTRACT,
        "tests/conformance/contract.toml": LISTED,
        "docs/decisions/README.md": INDEX,
        "docs/README.md": "[a](contract.md), [c](topics.md), [d](architecture.md)\n",
        "docs/architecture.md": LAYERS,
        "pyproject.toml": PROJECT,
        "docs/decisions/0001-one.md": "# 1. One result\n",
        "docs/topics.md": '# Topics\n\n## What is "sent"\n\n### Limits\n\n### Limits\n',
        "src/cs/bus/port.py": "class Bus: ...\nTOPIC_NAMES = ()\ndef topic_of(): ...\n",
        "src/cs/bus/__init__.py": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def put(root: Path, name: str, text: str) -> None:
    (root / name).write_text(text)


def test_nothing_is_said_where_everything_leads_somewhere(
    check_docs: ModuleType, root: Path
) -> None:
    put(
        root,
        "src/cs/bus/good.py",
        '"""Ids (contract H6, H7), of contract\ntext 2.2 (docs/topics.md,\n"Limits")."""\n'
        "#: H6 to H7, contract text 2; docs/decisions/0001\n",
    )
    put(
        root,
        "README.md",
        "[a](docs/topics.md#what-is-sent), [b](docs/topics.md#limits-1), "
        "[c](https://x.test/#y), [H6](docs/contract.md#h6), `bus/port.py`, `port.py`, "
        "`src/cs/bus/`, `cs.bus.port.Bus`, `topic_of()`, `TOPIC_NAMES`, `cs.outcomes.v1`, "
        "`application/json`, `cs serve`\n",
    )

    assert check_docs.problems(root) == []


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        (
            "x.py",
            "# (contract H6,\n#: H9)",
            "x.py:1: contract H9 is no row of docs/contract",
        ),
        ("x.py", "# contract text 2.3", "x.py:1: contract text 2.3 is no row of docs/contract"),
        (
            "x.py",
            '# (docs/topics.md, "Of old")',
            'docs/topics.md has no heading "Of old"',
        ),
        ("x.py", "# docs/decisions/0002", "x.py:1: there is no decision 0002"),
        ("README.md", "[a](docs/gone.md)", "the link to docs/gone.md leads nowhere"),
        ("README.md", "[a](docs/topics.md#gone)", "docs/topics.md has no #gone"),
        ("README.md", "`gone/port.py`", "gone/port.py is not there"),
        ("README.md", "`cs.bus.port.Gone`", "cs.bus.port.Gone: src/cs/bus/port.py has no Gone"),
        ("README.md", "`topic_gone()`", "nothing in the code is called topic_gone"),
    ],
)
def test_a_citation_or_name_that_leads_nowhere_is_named(
    check_docs: ModuleType, root: Path, file: str, text: str, said: str
) -> None:
    put(root, f"src/cs/bus/{file}" if file.endswith("py") else file, text)

    (found,) = check_docs.problems(root)
    assert said in found
