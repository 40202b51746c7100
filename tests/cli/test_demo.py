"""`cs demo`: the first thing a stranger runs."""

import re
import shlex
import signal
import socket
from pathlib import Path

import pytest

from cli.command import ran, started
from cli.curl_line import answer_of
from cs.sandbox.world import listing, load

pytestmark = pytest.mark.slow


def free_again(url: str) -> bool:
    host, _, port = url.removeprefix("http://").partition("/")[0].partition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) != 0


@pytest.mark.parametrize("brand", ["Veltrana", "Marrowby"])
def test_people_and_their_whole_addresses_are_shown_at_eighty_columns(
    tmp_path: Path, brand: str
) -> None:
    people = next(row.people for row in listing(load()) if row.brand == brand)

    shown = ran("demo", brand, COLUMNS="80", TMPDIR=str(tmp_path))

    assert shown.code == 0, shown
    assert shown.err == ""
    assert len(people) > 1
    for person in people:
        assert f" {person.address}\n" in shown.out
    assert "answered from reuse" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
    assert list(tmp_path.iterdir()) == []


def test_a_failed_search_is_shown_with_advice(tmp_path: Path) -> None:
    shown = ran("demo", "[/x]", TMPDIR=str(tmp_path))

    assert "[/x]  no_linkedin: the company could not be pinned down" in shown.out
    assert list(tmp_path.iterdir()) == []


def test_a_brand_that_no_search_can_have_is_told() -> None:
    assert ran("demo", "a").told().startswith("brand must have at least 2 characters")


def test_providers_with_a_key_are_played_and_show_their_bill(tmp_path: Path) -> None:
    shown = ran("demo", "Veltrana", "--providers", COLUMNS="80", TMPDIR=str(tmp_path))

    bill = shown.out.partition("What the played providers were asked")[2]
    assert shown.code == 0, shown
    assert re.search(r"hunter +1 +1 × search credit +0\.050", bill)
    assert re.search(r"^Together \$[0-9]+\.[0-9]{3}\.$", bill, re.MULTILINE)
    assert list(tmp_path.iterdir()) == []


def test_a_proxy_in_the_environment_has_no_part_in_it() -> None:
    proxy = "http://127.0.0.1:1"

    assert ran("demo", HTTP_PROXY=proxy, http_proxy=proxy, ALL_PROXY=proxy).code == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_kept_running_it_answers_the_printed_line_until_told_to_end(
    tmp_path: Path, number: signal.Signals
) -> None:
    with started("demo", "--keep", TMPDIR=str(tmp_path)) as process:
        assert process.stdout is not None
        shown = ""
        for line in process.stdout:
            shown += line
            if line.startswith("  -H 'Content-Type"):
                break
        command = shown[shown.index("curl ") :]

        answer = answer_of(command)
        process.send_signal(number)

        assert process.wait(timeout=5) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert (answer.status_code, answer.json()["status"]) == (200, "done")
    assert free_again(shlex.split(command)[2])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_can_be_ended_in_the_middle(tmp_path: Path, number: signal.Signals) -> None:
    with started("demo", "Zephrine", TMPDIR=str(tmp_path)) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        said = process.stdout.readline()

        process.send_signal(number)

        assert process.wait(timeout=5) == 130
        said += process.stderr.read()
    assert "Traceback" not in said
    assert "sandbox world" in said
    assert list(tmp_path.iterdir()) == []
