"""Plug-ins as others install them: a module and a distribution's entry points."""

import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cs.assembly.plugins import StagePlugins, open_plugins
from cs.assembly.sandbox_plugins import sandbox_notices
from cs.assembly.sandbox_world import with_played_providers
from cs.assembly.settings_of_plugins import of_source, of_verifier
from cs.domain.service import World
from cs.domain.stages.table import installed_rows
from cs.plugins.new_package import PackageKind, new_package
from cs.plugins.plugin_settings import SettingValues
from cs.settings import Settings, load
from harness.served import served

DOCS = Path(__file__).parents[2] / "docs"

#: Installs a distribution: files by path, and entry points by group and name.
Install = Callable[[Mapping[str, str], Mapping[str, Mapping[str, str]]], None]


def documented(page: str) -> tuple[dict[str, str], dict[str, Any], str]:
    """Return of the worked example on a *page* its module, entry points and settings."""
    text = (DOCS / page).read_text()
    example = text[text.index("## Writing a ") :]
    fenced = r"(?ms)^```(?:python|toml)\n# (\S+)[^\n]*\n(.*?)^```"
    files = dict(re.findall(fenced, example))
    points = tomllib.loads(files.pop("pyproject.toml"))["project"]["entry-points"]
    settings = files.pop("cs.toml")
    return files, points, settings


def install_written(install: Install, kind: PackageKind, name: str) -> None:
    """Install what `cs new` writes."""
    _, files = new_package(kind, name)
    written = {str(place): text for place, text in files.items()}
    points = tomllib.loads(written["pyproject.toml"])["project"]["entry-points"]
    install(written, points)


def write_points(site: Path, points: Mapping[str, Mapping[str, str]]) -> None:
    """Write the entry points, by group and name, of a distribution that is found at *site*."""
    info = site / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    lines = (
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in each.items())
        for group, each in points.items()
    )
    (info / "entry_points.txt").write_text("\n".join(lines))


def opened(
    environment: Mapping[str, str], world: World = "live", *, providers_url: str | None = None
) -> AbstractAsyncContextManager[StagePlugins]:
    """Open the plug-ins that a service with the settings of *environment* asks.

    With *providers_url* the world plays the providers with a key there.
    """
    settings = load(environment=environment)
    if providers_url is not None:
        plugins = with_played_providers(settings.plugins, providers_url)
        settings = replace(settings, plugins=plugins)
    return open_plugins(settings, world=world)


def notices(
    environment: Mapping[str, str], asked: Sequence[str], *, providers: bool = False
) -> list[str]:
    """Return what a sandbox with the settings of *environment* says at its start."""
    return sandbox_notices(load(environment=environment), asked, providers=providers)


def answers_of(folder: Path, *brands: str, **given: str) -> tuple[list[dict[str, Any]], str]:
    """Return the answers about *brands* of a sandbox with what is installed, and its output."""
    environment = {"PYTHONPATH": str(folder / "site"), **given}
    with (
        served(folder / "data", **environment) as service,
        service.client(service.new_key()) as client,
    ):
        bodies = [{"brand": brand, "wait": True} for brand in brands]
        found = [client.post("/contacts", json=body).json() for body in bodies]
    return found, service.output


def given_to_source(settings: Settings, name: str) -> SettingValues:
    """Return the settings that the source *name* is made with."""
    return of_source(settings, name)


def given_to_verifier(settings: Settings, name: str) -> SettingValues:
    """Return the settings that the verifier *name* is made with."""
    return of_verifier(settings, name)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install distributions that are found as any other is, and are gone afterwards."""
    site = tmp_path / "site"
    site.mkdir()
    before = set(sys.modules)

    def run(files: Mapping[str, str], points: Mapping[str, Mapping[str, str]]) -> None:
        for name, content in files.items():
            file = site / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        write_points(site, points)
        installed_rows.cache_clear()
        monkeypatch.syspath_prepend(str(site))

    yield run
    installed_rows.cache_clear()
    for name in set(sys.modules) - before:
        if name.partition(".")[0].startswith(("acme", "cs_", "catch_all")):
            del sys.modules[name]
