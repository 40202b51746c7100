"""How the answers in the documents are compared with what the commands answer."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

DEV = Path(__file__).parents[2] / "dev"


@pytest.fixture(scope="module")
def answers() -> ModuleType:
    spec = importlib.util.spec_from_file_location("answers", DEV / "answers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def page(first: str, second: str, third: str) -> str:
    return (
        f"Before.\n\n```console\n$ echo key_aaaaaaaaaaaaaa1\n{first}\n"
        f"$ printf 'at 10:15:%s\\nkey_aaaaaaaaaaaaaa1\\n' 07\n{second}\n```\n\nBetween.\n\n"
        f"```python\nprint(1 + 1)\n```\n\n```text\n{third}\n```\n\nAfter.\n"
    )


def test_a_page_that_shows_what_is_answered_stays_as_it_is(
    answers: ModuleType, tmp_path: Path
) -> None:
    told = answers.Answers(tmp_path)
    shown = page("key_aaaaaaaaaaaaaa1", "at 10:15:07\nkey_aaaaaaaaaaaaaa1", "2")

    assert told.renewed(shown, "page") == shown
    assert told.different == []


def test_seconds_differ_and_so_may_ids_that_stand_in_the_same_place(
    answers: ModuleType, tmp_path: Path
) -> None:
    told = answers.Answers(tmp_path)
    shown = page("key_bbbbbbbbbbbbbb2", "at 10:15:59\nkey_aaaaaaaaaaaaaa1", "2")

    told.renewed(shown, "page")

    assert told.different == []


@pytest.mark.parametrize(
    ("second", "third"),
    [
        ("at 10:16:07\nkey_aaaaaaaaaaaaaa1", "2"),
        ("at 10:15:07\nkey_aaaaaaaaaaaaaa1\nmore", "2"),
        ("at 10:15:07\nkey_aaaaaaaaaaaaaa1", "3"),
    ],
)
def test_anything_else_that_differs_is_shown_and_renewed(
    answers: ModuleType, tmp_path: Path, second: str, third: str
) -> None:
    told = answers.Answers(tmp_path)

    renewed = told.renewed(page("key_aaaaaaaaaaaaaa1", second, third), "page")

    assert len(told.different) == 1
    assert told.different[0].startswith("page: ")
    assert renewed == page("key_aaaaaaaaaaaaaa1", "at 10:15:07\nkey_aaaaaaaaaaaaaa1", "2")


def test_a_command_that_names_an_id_is_run_with_the_one_that_stands_there_now(
    answers: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("key_nowitisthisone3\n")
    shown = (
        "```console\n$ cat key\nkey_itwasanotherone4\n"
        "$ echo key_itwasanotherone4 | tr a-z A-Z\nKEY_NOWITISTHISONE3\n```"
    )
    told = answers.Answers(tmp_path)

    told.renewed(shown, "page")

    assert told.different == []


def test_a_command_may_hold_a_file(answers: ModuleType, tmp_path: Path) -> None:
    shown = "```console\n$ cat > a <<'END'\n$HOME\nEND\n$ wc -l \\\n  a\n1 a\n```"
    told = answers.Answers(tmp_path)

    assert told.renewed(shown, "page") == shown
    assert told.different == []


def test_a_line_of_output_that_looks_like_a_command_is_not_run(
    answers: ModuleType, tmp_path: Path
) -> None:
    told = answers.Answers(tmp_path)
    page = told.renewed("```console\n$ echo '$ touch made'\nwrong\n```", "page")

    assert told.renewed(page, "page") == page
    assert not (tmp_path / "made").exists()


def test_a_command_that_fails_is_a_difference(answers: ModuleType, tmp_path: Path) -> None:
    told = answers.Answers(tmp_path)

    told.renewed("```console\n$ cat nothing\n```", "page")

    assert "exit code 1" in told.different[0]
