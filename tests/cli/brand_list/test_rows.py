"""Lists as people keep them, as `cs search --file` reads them."""

import csv
import resource
import subprocess
import sys

import pytest

from cli.brand_list.list_desk import KEY, Desk, Service
from cli.command import environment
from client.answering import answered

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        ("b.csv", "Acme\nBeta Co\n", [(1, "Acme", None), (2, "Beta Co", None)]),
        ("b.csv", "\ufeffBrand,Domain\r\nAcme,a.example\r\n", [(2, "Acme", "a.example")]),
        ("b.csv", "Note;Domain;Brand\nx;a.example;A B\n", [(2, "A B", "a.example")]),
        ("b.csv", "domain\na.example\n", [(2, None, "a.example")]),
        ("b.csv", "Acme\ta.example\n", [(1, "Acme", "a.example")]),
        ("b.csv", "\n  \n,\nAcme\n", [(4, "Acme", None)]),
        ("b.csv", '"Ac\nme",x.co\nBeta,\n', [(1, "Ac me", "x.co"), (3, "Beta", None)]),
        (
            "b.csv",
            "Acme,\nACME,\n acme ,\nAcme,a.co\n",
            [(1, "Acme", None), (4, "Acme", "a.co")],
        ),
        ("b.csv", "Acme,a.co,,\nBeta,,a note\n", [(1, "Acme", "a.co"), (2, "Beta", None)]),
        (
            "b.TXT",
            "Mars, Inc.\nAcme; Beta\n\n  Dove   Men  \nmars, inc.\n",
            [(1, "Mars, Inc.", None), (2, "Acme; Beta", None), (4, "Dove Men", None)],
        ),
    ],
)
def test_rows_are_read(
    desk: Desk, name: str, text: str, rows: list[tuple[int, str | None, str | None]]
) -> None:
    with answered(Service()) as server:
        assert desk.search(server, list_=(name, text.encode())).code == 0

    with (desk.folder / "b.results.csv").open(newline="") as file:
        found = [*csv.DictReader(file)]
    read = [(int(r["row"]), r["asked_brand"] or None, r["asked_domain"] or None) for r in found]
    assert read == rows


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("b.csv", b"x" * 200_000, "line 1"),
        ("b.csv", b'Beta\n"Acme,\nGamma\n', "line 2: a quote is opened that nothing closes"),
        (
            "b.csv",
            b"Id,Company,Site\n1,Acme,a.co\n",
            "line 1 has 3 columns, and none is called",
        ),
        ("b.csv", b"\xff\xfe", "is not UTF-8"),
        ("b.csv", b"\xef\xbb\xbfbrand,domain\r\n,\r\n", "names no brand"),
        ("b.txt", b"brand,domain\nAcme,acme.example\n", "line 1 names columns"),
        ("b.txt", b"\nDomain; Brand\n", "line 2 names columns"),
    ],
)
def test_a_list_that_cannot_be_read_is_refused(
    desk: Desk, name: str, text: bytes, message: str
) -> None:
    service = Service()
    with answered(service) as server:
        assert message in desk.search(server, list_=(name, text)).error(2)

    assert service.asked == []


def test_a_file_without_an_end_is_not_read_to_it() -> None:
    def small() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (256 << 20, 256 << 20))

    ended = subprocess.run(
        [sys.executable, "-m", "cs", "search", "--file=/dev/zero", f"--key={KEY}"],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
        preexec_fn=small,
    )

    assert (ended.returncode, "is larger than 4 MiB" in ended.stderr) == (2, True), ended
