"""Foreign text commands no terminal and no spreadsheet; tables cut no word."""

import ast
import csv
import io
import re
from importlib import resources
from pathlib import Path

import msgspec
import pytest
import structlog
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.text import Text

from cli.command import Here, Ran
from client.answering import answering
from cs.cli import output
from cs.cli.output import cell, harmless, harmless_lines, json_line
from cs.runtime import logs

#: What a terminal obeys: C0, DEL, C1; what turns directions; what a line ends at.
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]")
HOSTILE = [
    "a\x1b]0;owned\x07b",
    "a\x1b[2Jb",
    "a\x9b2Jb",
    "a\x9d0;owned\x9cb",
    "a\x90qb\x85c",
    "a\u202eb\u2066c\u2069",
    "a\u200fb\u061cc",
    "a\u2028b\u2029c",
    "a\rb\x08c\x7fd",
    "[bold]a[/] :smile: \\[x]\\",
]
CORPUS = " ".join(HOSTILE)


def is_shown(ran: Ran) -> bool:
    """Say whether *ran* printed a part of the corpus, and nothing that is obeyed."""
    printed = ran.out + ran.err
    assert OBEYED.search(printed) is None, repr(printed)
    return any(text in printed for text in (r"\x1b", r"\u001b", r"\x9b", r"\u202e"))


@pytest.mark.parametrize("form", [[], ["--json"], ["--csv"]])
@pytest.mark.parametrize("command", [["search", "Acme"], ["get", "srch_1"]])
def test_records_of_any_server(here: Here, command: list[str], form: list[str]) -> None:
    fields = ("id", "brand", "domain", "parent_company", "instagram", "tiktok")
    record = dict.fromkeys((*fields, "linkedin_company_url"), CORPUS)
    person = dict.fromkeys(("full_name", "title", "headline", "email", "location"), CORPUS)
    body = msgspec.json.encode(
        {
            **record,
            "status": "done",
            "contacts": [{**person, "email_status": "verified"}, person],
            "usage": {"used": 1, "quota": 2, "remaining": 1},
        }
    )
    with answering((200, body, {"Content-Type": "application/json"})) as server:
        assert is_shown(here(*command, f"--url={server.url}", "--key=cs_live_x", *form))


# Each way out, whatever comes.

texts = st.text(st.characters(codec=None)) | st.sampled_from(HOSTILE)


@given(texts)
def test_tables_lines_and_warnings(text: str) -> None:
    with output.console.capture() as out, output.errors.capture() as err:
        output.print_parts([output.Table(["One", "Two"], [[text, Text("x")]], ["One"])])
        output.console.print(f"about {text}", text)
        output.console.print(output.styled("[bold]{}[/]", text))
        output.warn(text)

    assert OBEYED.search(out.get() + err.get()) is None


@settings(max_examples=settings().max_examples // 2)
@given(st.recursive(st.none() | st.text(), lambda inner: st.dictionaries(st.text(), inner)))
@example("a\x9b2J\u202e\\u202e\\")
def test_json_says_the_same_to_programs(value: object) -> None:
    line = json_line(value)

    assert msgspec.json.decode(line) == value
    assert OBEYED.search(line.decode()) is None


@given(texts)
def test_a_text_is_one_line_and_cleaning_it_twice_is_cleaning_it_once(text: str) -> None:
    assert harmless(harmless(text)) == harmless(text)
    assert OBEYED.search(harmless(text)) is None
    assert "\n" not in harmless(text)
    assert harmless_lines(text).count("\n") == text.count("\n")


formulas = st.lists(
    st.sampled_from(
        ["=", "+", "-", "@", "＝", ";", "\t", "\r", "\n", " ", '"', "'", ",", "1", "a"]
    )
).map("".join)


@given(formulas)
@example(";=1+1")
@example("a;\t=1")
@example("a\t=1")
@example('a;"=1')
@example("\x00=1")
def test_no_cell_is_a_formula_wherever_a_spreadsheet_parts_cells(text: str) -> None:
    written = cell(text)
    whole = io.StringIO()
    csv.writer(whole).writerow([text, written])

    for between in (",", ";", "\t", "\n"):
        for part in written.split(between) if between != "," else [written]:
            assert not re.match(r"[\s\"]*[=+@＝＋－＠-]", part), (text, written)
    assert written.replace("'", "") == harmless(text).replace("'", "")


def test_log_lines_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    for style in ("console", "json"):
        logs.configure("info", style)
        try:
            for text in HOSTILE:
                structlog.get_logger().warning("source_failed", why=text, source=text)
                structlog.get_logger().error("bug", exc_info=ValueError(text))
        finally:
            structlog.reset_defaults()
        err = re.sub("\x1b\\[[0-9;]*m", "", capsys.readouterr().err)  # its own colours
        assert "source_failed" in err
        assert OBEYED.search(err) is None, repr(err)


#: Modules with a way out of their own: the outlets themselves, and what hands streams on.
OUTLETS = {"output.py"}


def test_no_command_prints_past_the_outlets() -> None:
    folder = Path(str(resources.files("cs.cli")))
    for path in sorted(folder.glob("**/*.py")):
        tree = ast.parse(path.read_text())
        calls = {ast.unparse(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
        past = {
            call
            for call in calls
            if call in {"print", "Console", "sys.stdout.write", "sys.stderr.write"}
            or call.startswith(("sys.stdout.buffer", "sys.stderr.buffer"))
        }
        assert path.name in OUTLETS or not past, (path.name, past)


def shown(table: output.Table, width: int) -> str:
    console = output.console
    with pytest.MonkeyPatch.context() as during, console.capture() as printed:
        during.setattr(console, "_width", width)
        output.print_parts([table])
    return printed.get()


words = st.text(
    st.characters(categories=["L", "N"], max_codepoint=0x2FF), min_size=1, max_size=30
)


@settings(max_examples=settings().max_examples // 2)
@given(
    st.lists(st.lists(words, min_size=1, max_size=6), min_size=1, max_size=6),
    st.integers(60, 120),
    st.sets(st.integers(0, 5)),
)
def test_no_word_is_ever_cut(cells: list[list[str]], width: int, folded: set[int]) -> None:
    columns = [f"C{n}" for n in range(len(cells))]
    folds = [f"C{n}" for n in folded]

    row = [" ".join(cell) for cell in cells]

    printed = shown(output.Table(columns, [row], folds), width)

    assert {word for cell in cells for word in cell} <= set(printed.split())
    assert all(
        cell in printed for cell, name in zip(row, columns, strict=True) if name not in folds
    )


def test_progress_is_shown_now_and_then_without_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    progress = output.Progress()
    for searched in range(1, 31):
        now += 1.0
        progress.show(f"{searched} of 30 searched")

    message = capsys.readouterr().err.splitlines()
    assert message == [f"{n} of 30 searched" for n in (10, 20, 30)]
