"""Our alerts and dashboard, and promtool: the machine's, or that of Debian's package."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import yaml

from harness.servers.missing import Missing

MONITORING = Path(__file__).parents[2] / "deploy" / "monitoring"
RULES = MONITORING / "contact-search.rules.yaml"
DASHBOARD = MONITORING / "grafana" / "contact-search.json"


def alerts() -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def queries() -> list[str]:
    """Return every query of the alerts and of the dashboard."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    shown = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    return [*(rule["expr"] for rule in alerts()), *shown]


def promtool() -> str:
    """Return the path of promtool.

    Raises:
        Missing: It is not here, and there is no Debian package of it to be had.
    """
    return _found("promtool")


def _found(program: str) -> str:
    there = shutil.which(program)
    if there is not None:
        return there
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    cache = Path(caches) / "contact-search" / "prometheus"
    if not cache.exists():
        _unpack_package(cache)
    return str(cache / "usr" / "bin" / program)


def _unpack_package(cache: Path) -> None:
    """Put Debian's package into the folder *cache*; needs no rights, and installs nothing."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise Missing("no promtool and no prometheus: install Prometheus")
    cache.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(mkdtemp(prefix="prometheus.part-", dir=cache.parent))
    try:
        for folder in ("lists/partial", "archives/partial", "whole"):
            (draft / folder).mkdir(parents=True)
        own = [f"-oDir::State::lists={draft}/lists", f"-oDir::Cache={draft}"]
        try:
            _run(draft, "apt-get", "-q", "download", "prometheus")
        except subprocess.SubprocessError:  # perhaps no lists were ever read here
            _run(draft, "apt-get", *own, "-q", "update")
            _run(draft, "apt-get", *own, "-q", "download", "prometheus")
        (package,) = draft.glob("prometheus_*.deb")
        _run(draft, "dpkg-deb", "-x", str(package), "whole")
        (draft / "whole").replace(cache)
    except (subprocess.SubprocessError, ValueError):
        if not cache.exists():  # else another worker had it first
            raise Missing("no Prometheus, and apt-get cannot download it: install it") from None
    except OSError:
        assert cache.exists(), "another worker had it first"
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _run(folder: Path, *words: str) -> None:
    subprocess.run(words, cwd=folder, check=True, capture_output=True, timeout=120)
