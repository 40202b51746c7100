"""`cs demo`: the first thing a stranger runs."""

import re
import signal
from pathlib import Path

import httpx
import pytest

from cli.command import ran, started

pytestmark = pytest.mark.slow


#: Whose mailboxes exist in the bundled world.
VERIFIED = {
    "Veltrana": [
        f"{name}@veltrana.test"
        for name in ("amara.okafor", "renee.dubois", "tomasz.zielinski", "priya.raman")
    ],
    "Marrowby": ["anneke.vanderberg@marrowby.example", "siobhan.oneill@marrowby.example"],
}


@pytest.mark.parametrize("brand", VERIFIED)
def test_people_and_their_whole_addresses_are_shown_at_eighty_columns(
    tmp_path: Path, brand: str
) -> None:
    shown = ran("demo", brand, COLUMNS="80", TMPDIR=str(tmp_path))

    assert shown.code == 0, shown
    assert shown.err == ""
    for address in VERIFIED[brand]:
        assert f" {address}" in shown.out
    assert "answered from reuse" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
    assert list(tmp_path.iterdir()) == []


def test_a_failed_search_is_shown_with_advice(tmp_path: Path) -> None:
    shown = ran("demo", "[/x]", TMPDIR=str(tmp_path))

    assert "[/x]  no_linkedin: the company could not be pinned down" in shown.out
    assert list(tmp_path.iterdir()) == []


def test_a_brand_that_no_search_can_have_is_reported() -> None:
    assert ran("demo", "a").error().startswith("brand must have at least 2 characters")


def test_a_proxy_in_the_environment_has_no_part_in_it() -> None:
    proxy = "http://127.0.0.1:1"

    assert ran("demo", HTTP_PROXY=proxy, http_proxy=proxy, ALL_PROXY=proxy).code == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_can_be_ended_in_the_middle(tmp_path: Path, number: signal.Signals) -> None:
    with started("demo", "Zephrine", TMPDIR=str(tmp_path)) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        said = process.stdout.readline()

        process.send_signal(number)

        assert process.wait(timeout=10) == 130
        said += process.stderr.read()
    assert "Traceback" not in said
    assert "sandbox world" in said
    assert list(tmp_path.iterdir()) == []


def test_it_ends_quietly_when_its_reader_goes(tmp_path: Path) -> None:
    with started("demo", TMPDIR=str(tmp_path)) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "sandbox world" in process.stdout.readline()

        process.stdout.close()

        assert process.wait(timeout=60) == 1
        assert process.stderr.read() == ""
    assert list(tmp_path.iterdir()) == []


def test_its_console_stays_open_when_asked(tmp_path: Path) -> None:
    with started("demo", "--open", TMPDIR=str(tmp_path), DISPLAY="") as process:
        assert process.stdout is not None
        said = ""
        while not said.endswith("Ctrl-C ends it.\n"):
            said += (line := process.stdout.readline())
            assert line, said
        (url,) = re.findall(r"The console: (\S+)", said)
        page = httpx.get(url, trust_env=False)

        process.send_signal(signal.SIGINT)

        assert process.wait(timeout=10) == 0
    assert page.status_code == 200
    assert "1 lookups" not in page.text
    assert f"console: {url}" in said, "it is named at the start, too"
    assert list(tmp_path.iterdir()) == []
