"""Paid calls of a service in one process: its plug-ins, its data folder, its restarts."""

import stat
import sys
from pathlib import Path

import pytest

from cs.assembly.folder import open_folder, open_paid_calls
from cs.assembly.plugins import open_plugins
from cs.domain.contact import BrandFacts
from cs.paid_calls.current_work import set_current_lookup
from cs.plugins.sources import SourceStatus
from cs.runtime.data_folder import DataFolder
from cs.settings import Settings, load
from outside.loopback_web import pages, serve

PLUGIN = Path(__file__).parents[1] / "plugins" / "paid_source"
ACME = BrandFacts(name="Acme", domain="acme.example")


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PLUGIN))
    monkeypatch.delitem(sys.modules, "paid_people", raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


def asking(url: str) -> Settings:
    return load(
        environment={
            "CS_PEOPLE_SOURCES": "paid-people",
            "CS_SOURCES__PAID_PEOPLE__URL": url,
        }
    )


async def one_life(folder: Path, settings: Settings, lookup: str) -> SourceStatus:
    """Start, ask the source once for *lookup*, stop; return how the source ended."""
    async with (
        open_paid_calls(Settings(data_dir=folder)) as paid,
        open_plugins(settings, paid=paid) as tools,
        open_folder(DataFolder(folder)),
    ):
        (source,) = tools.people_sources
        with set_current_lookup(lookup):
            return (await source.find(ACME, limit=10)).ended


async def test_a_restart_does_not_pay_again(folder: Path) -> None:
    async with serve(pages({"/people": b"nobody"})) as provider:
        settings = asking(provider.url)
        ended = [await one_life(folder, settings, f"brand-a.{n}") for n in (1, 1, 2)]

    assert ended == [SourceStatus.NO_RESULTS] * 3
    assert len(provider.asked) == 2, "one for each lookup"
    assert stat.S_IMODE((folder / "calls.db").stat().st_mode) == 0o600


async def test_a_service_without_paid_plug_ins_keeps_no_register(folder: Path) -> None:
    async with open_paid_calls(Settings(data_dir=folder)), open_folder(DataFolder(folder)):
        pass

    assert "calls.db" not in [file.name for file in folder.iterdir()]  # noqa: ASYNC240
