"""A list that was paid for, progress without a terminal, and a list in plain text."""

from pathlib import Path

import pytest

from cli.brand_list.list_desk import Desk, Service
from cli.command import Here
from client.answering import answered
from cs.cli.brand_list import BadList, read_rows
from cs.cli.progress import LINE_EVERY_S, Progress


@pytest.fixture
def desk(here: Here, tmp_path: Path) -> Desk:
    return Desk(here, tmp_path)


def test_a_list_paid_for_under_another_name_is_not_searched_again_unasked(desk: Desk) -> None:
    desk.write("Acme\nBeta\n")
    service = Service()
    other = f"--results={desk.folder / 'other.csv'}"
    with answered(service) as server:
        assert desk.search(server).code == 0
        refused = desk.search(server, other)
        asked = len(service.asked)
        wanted = desk.search(server, other, "--again")
        on = desk.search(server, other)

    told = refused.told(2)
    first = desk.folder / "brands.results.csv"
    assert told.startswith(f"2 of 2 brands of this list were searched into {first}; ")
    assert "--again" in told
    assert asked == 2
    assert not (desk.folder / "other.csv.journal").exists() or wanted.code == 0
    assert (wanted.code, on.code) == (0, 0), "begun, it goes on without being asked"


def test_another_list_beside_it_is_searched_unasked(desk: Desk) -> None:
    desk.write("Acme\n")
    with answered(Service()) as server:
        desk.search(server)
        other = desk.folder / "others.csv"
        other.write_text("Acme\n")
        words = ("search", f"--file={other}", f"--url={server.url}/v1", "--key=cs_live_x")
        ended = desk.here(*words)

    assert ended.code == 0, ended


def test_progress_is_told_now_and_then_without_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = 0.0
    progress = Progress(lambda: now)
    for searched in range(1, 31):
        now += 1.0
        progress.show(f"{searched} of 30 searched")

    assert LINE_EVERY_S == 10.0
    assert capsys.readouterr().err.splitlines() == [
        "10 of 30 searched",
        "20 of 30 searched",
        "30 of 30 searched",
    ]


def test_plain_text_is_a_brand_a_line(tmp_path: Path) -> None:
    file = tmp_path / "brands.txt"
    file.write_text("Mars, Inc.\nAcme; Beta\n\n  Dove   Men  \nmars, inc.\n")

    assert [(row.number, row.brand, row.domain) for row in read_rows(file)] == [
        (1, "Mars, Inc.", None),
        (2, "Acme; Beta", None),
        (4, "Dove Men", None),
    ]


def test_plain_text_with_columns_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "brands.TXT"
    file.write_text("brand,domain\nAcme,acme.example\n")

    with pytest.raises(BadList, match="line 1 names columns; a list with columns is called"):
        read_rows(file)
