"""Prometheus and its promtool: on the machine, or Debian's package unpacked into a cache."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import httpx
import yaml

from harness.servers.missing import Missing
from harness.servers.own_folder import own_folder
from harness.servers.ports import free_ports

MONITORING = Path(__file__).parents[2] / "deploy" / "monitoring"
RULES = MONITORING / "contact-search.rules.yaml"
DASHBOARD = MONITORING / "grafana" / "contact-search.json"
#: Until it answers, and until it has read what it watches.
START_S = 30.0
#: How often it reads: so that a rate has two figures soon.
EVERY = "1s"
#: How often it is looked whether it is so far: it tells nobody what it has read.  It looks for
#: its targets after 5 s.
LOOK_S = 0.1


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


@dataclass
class Prometheus:
    """A server that runs with our alerts, reached by *http*."""

    http: httpx.Client

    def ask(self, path: str, **parameters: str) -> Any:
        body = self.http.get(f"/api/v1/{path}", params=parameters).json()
        assert body["status"] == "success", body
        return body["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return what *expression* gives now."""
        found: list[dict[str, Any]] = self.ask("query", query=expression)["result"]
        return found

    def wait_for(self, expression: str) -> None:
        """Return once *expression* gives something."""
        _look_until(lambda: bool(self.query(expression)), f"nothing came of {expression}")


@contextmanager
def running_prometheus(targets: Sequence[str]) -> Iterator[Prometheus]:
    """Run Prometheus with our alerts, reading the admin ports *targets*, ``host:port`` each."""
    program = _found("prometheus")
    (port,) = free_ports(1)
    with own_folder() as folder:
        file = folder / "prometheus.yaml"
        file.write_text(yaml.safe_dump(_config(targets)))
        words = [
            program,
            f"--config.file={file}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=error",
        ]
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(words, stdout=log, stderr=log)
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http:
                _wait_ready(http, process, folder / "log")
                yield Prometheus(http)
        finally:
            process.terminate()
            process.wait(START_S)


def _config(targets: Sequence[str]) -> dict[str, Any]:
    """Return the configuration of deploy/ with other addresses, read more often."""
    config: dict[str, Any] = yaml.safe_load((MONITORING / "prometheus.yaml").read_text())
    config["global"] = {"scrape_interval": EVERY, "evaluation_interval": EVERY}
    config["rule_files"] = [str(RULES)]
    (job,) = config["scrape_configs"]
    del job["dns_sd_configs"]
    job["static_configs"] = [{"targets": list(targets)}]
    return config


def _wait_ready(http: httpx.Client, process: subprocess.Popen[bytes], log: Path) -> None:
    def is_ready() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            return http.get("/-/ready").status_code == 200
        except httpx.TransportError:
            return False

    _look_until(is_ready, "Prometheus did not start")


def _look_until(so_far: Callable[[], bool], otherwise: str) -> None:
    until = time.monotonic() + START_S
    while not so_far():
        assert time.monotonic() < until, otherwise
        time.sleep(LOOK_S)
