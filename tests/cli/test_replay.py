"""`cs replay` on a history by itself: what is printed, and that it is repeatable."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cli.command import Here
from cli.year import year
from cs.domain.rule_sets import RANKING
from harness.on_data import data_of
from history.replay.made_up import STRICTER, Looked, Seen, said, store

__all__ = ["year"]
YES, FOR_NOW, NO = "250 2.1.5 Ok", "250 Ok for now", "550 5.1.1 No such user"
SOCIAL, BRAND = "Social Media Manager at {}", "Senior Brand Manager at {}"
#: What stricter rules do to it stands next to each lookup.
HISTORY = (
    # p2 is lost of the ranking; p1's mailbox is still verified.
    Looked("Acme", (Seen(SOCIAL, YES), Seen(BRAND, YES)), searches=(False, True)),
    # p1 is lost of both, and with it the charge of two searches.
    Looked("Zenith", (Seen(BRAND, FOR_NOW), Seen(SOCIAL, NO)), searches=(False, True)),
    # Not resolved any more, so that its search is not charged.
    Looked("Nova", (Seen(SOCIAL, YES),)),
    Looked("Acme", (Seen(SOCIAL, YES, erased=True), Seen(BRAND, YES, erased=True))),
    *(Looked(f"Brand{n}", (Seen(SOCIAL, NO),), named=n % 2 == 0) for n in range(70)),
)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history") / "data"

    async def make() -> None:
        async with data_of(folder) as data:
            await store(data.log, data.keys, HISTORY)

    asyncio.run(make())
    return folder


@pytest.fixture(scope="module")
def stricter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "stricter.py"
    path.write_text(STRICTER)
    return path


def changes(rows: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    message = said(rows, "difference")
    return [
        (row["change"], row["brand"], str(row["person"]).rpartition("#")[2]) for row in message
    ]


def charges(rows: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [
        (row["change"], row["search"]["asked_brand"], row["search"]["cached"])  # type: ignore[index]
        for row in said(rows, "charge")
    ]


EXPECTED: dict[str, tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]] = {
    "ranking": (
        [("lost", "Acme", "p2"), ("lost", "Zenith", "p1")],
        [("lost", "Zenith", False), ("lost", "Zenith", True)],
    ),
    "verdicts": (
        [("lost", "Zenith", "p1")],
        [("lost", "Zenith", False), ("lost", "Zenith", True)],
    ),
}


@pytest.mark.parametrize("kind", EXPECTED)
def test_stricter_rules_show_what_they_would_have_done_and_the_same_again(
    history: Path, stricter: Path, here: Here, kind: str
) -> None:
    words = ("replay", kind, f"--rules={stricter}", "--json", f"--data-dir={history}")

    shown = here(*words)
    rows = shown.rows

    assert here(*words).out == shown.out

    assert (changes(rows), charges(rows)) == EXPECTED[kind]
    *_, total = rows
    assert total["kind"] == "total"
    assert total["lookups"] == len(HISTORY)
    assert (total["gained"], total["lost"]) == (0, len(EXPECTED[kind][0]))
    assert total["charges_lost"] == len(EXPECTED[kind][1])
    of_brands = said(rows, "brand")
    assert sum(row["lost"] for row in of_brands) == total["lost"]  # type: ignore[misc]
    assert {row["brand"] for row in of_brands} == {brand for _, brand, _ in EXPECTED[kind][0]}


def test_searches_that_were_not_charged_gain_a_charge(
    history: Path, tmp_path: Path, here: Here
) -> None:
    file = tmp_path / "believing.py"
    file.write_text("def read_reply(evidence):\n    return 'deliverable', 'believed'\n")

    rows = here("replay", "verdicts", f"--rules={file}", "--json", f"--data-dir={history}").rows

    # Zenith has a mailbox that is gained, too, and was charged for another one.
    assert ("gained", "Zenith", "p2") in changes(rows)
    assert charges(rows) == [("gained", f"Brand{n}", False) for n in range(70)]
    *_, total = rows
    assert (total["charges_gained"], total["charges_lost"]) == (70, 0)


def test_people_read_what_would_be_otherwise(history: Path, stricter: Path, here: Here) -> None:
    words = ("replay", "ranking", f"--rules={stricter}", f"--data-dir={history}")

    shown = here(*words, "--examples=1", width=120).out

    lines = {
        name: value for name, _, value in (line.partition("  ") for line in shown.splitlines())
    }
    facts = {name: value.strip() for name, value in lines.items()}
    assert (facts["lookups"], facts["replayed"]) == ("74", "73")
    assert facts["not replayed"] == "no person to rank=1"
    assert (facts["gained"], facts["lost"], facts["changed"]) == ("0", "2", "0")
    assert (facts["charges lost"], facts["charges gained"]) == ("2", "0")
    assert facts["by rules"].startswith(f"{RANKING}=")
    [example] = [line for line in shown.splitlines() if line.startswith("lost: ")]
    assert example.startswith("lost: Acme, brand-")
    assert example.endswith(
        "#p2: place 2, family brand, level senior_manager, score 0.15 -> left_out not-wanted"
    )
    assert "Jo" not in shown


def test_one_brand_is_replayed_if_it_is_named(
    history: Path, stricter: Path, here: Here
) -> None:
    words = ("replay", "ranking", f"--rules={stricter}", "--json", f"--data-dir={history}")

    rows = here(*words, "--brand=Zenith").rows

    assert changes(rows) == [("lost", "Zenith", "p1")]
    assert rows[-1]["lookups"] == 1
    assert "never looked up" in here(*words, "--brand=Nobody").error()


@pytest.fixture(scope="module")
def beginning(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """Return a history that ended after two lookups, and its last position."""
    folder = tmp_path_factory.mktemp("beginning") / "data"

    async def make() -> int:
        async with data_of(folder) as data:
            await store(data.log, data.keys, HISTORY[:2])
            return await data.log.head()

    return folder, asyncio.run(make())


@pytest.mark.parametrize("kind", EXPECTED)
def test_a_replay_as_of_then_is_the_replay_of_a_log_that_ended_then(
    history: Path, beginning: tuple[Path, int], stricter: Path, here: Here, kind: str
) -> None:
    folder, head = beginning
    words = ("replay", kind, f"--rules={stricter}", "--json")

    ended = here(*words, f"--data-dir={folder}")

    assert ended.rows[-1]["lookups"] == 2
    for at in (str(head), "2026-03-02T23:00:00Z"):
        then = here(*words, f"--at={at}", f"--data-dir={history}")
        assert (then.code, then.out) == (0, ended.out)


def test_who_reveals_people_is_stored_first(history: Path, stricter: Path, here: Here) -> None:
    words = ("replay", "verdicts", f"--rules={stricter}", "--json", f"--data-dir={history}")
    why = "a stricter rule is tried"

    rows = here(*words, f"--reveal={why}").rows

    [message] = said(rows, "difference")
    assert "p1@zenith.test" in str(message)

    (act,) = here("log", "trail", "--last=1", "--json", f"--data-dir={history}").rows
    assert (act["command"], act["why"]) == ("replay verdicts", why)
    assert here(*words, "--reveal=why").code == 2


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("ranking", "--at=later"), "--at: a position or a time such as 2026-03-01T12:00:00Z"),
    ],
)
def test_what_cannot_be_is_reported(
    history: Path, here: Here, words: tuple[str], why: str
) -> None:
    assert here("replay", *words, f"--data-dir={history}").error(2).startswith(why)


def test_the_file_of_rules_in_the_documents_leaves_out_everyone_below_head(
    history: Path, tmp_path: Path, here: Here
) -> None:
    page = (Path(__file__).parents[2] / "docs/extending.md").read_text()
    file = tmp_path / "juniors.py"
    file.write_text(page.rpartition("```python\n")[2].partition("```")[0])

    rows = here("replay", "ranking", f"--rules={file}", "--json", f"--data-dir={history}").rows

    message = said(rows, "difference")
    assert len(message) == 75
    assert {row["would_be"]["left_out"] for row in message} == {"too-junior"}  # type: ignore[index]


@pytest.mark.slow
def test_the_rules_before_the_change_of_rules_left_brand_marketing_out(
    year: Path, here: Here
) -> None:
    rows = here("replay", "ranking", "--json", f"--data-dir={year}").rows

    gained = said(rows, "difference")
    assert gained
    assert {(row["change"], row["rules"]) for row in gained} == {("gained", "ranking-0")}
    assert {row["would_be"]["family"] for row in gained} == {"brand"}  # type: ignore[index]
    assert set(rows[-1]["by_rules"]) == {"ranking-0", RANKING}
