"""The release: one version everywhere, and a wheel that runs."""

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from importlib.metadata import version
from pathlib import Path
from shutil import copy, copytree, ignore_patterns

import pytest

from cli.command import environment

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
WHEEL = f"contact_search-{VERSION}-py3-none-any.whl"


def test_documents_name_the_version_of_the_package() -> None:
    """Those of the image and the chart are compared in `tests/deploy`."""
    (newest, *_) = re.findall(r"(?m)^## \[(.*)$", (ROOT / "CHANGELOG.md").read_text())

    assert version("contact-search") == VERSION
    assert re.fullmatch(rf"{re.escape(VERSION)}\] - \d{{4}}-\d\d-\d\d", newest)
    for page in ("deploy.md", "extending.md"):
        named = re.findall(r"contact_search-\S+?\.whl", (ROOT / "docs" / page).read_text())
        assert set(named) == {WHEEL}, page


@pytest.mark.slow
def test_the_demo_of_the_wheel_runs_in_a_new_environment(tmp_path: Path) -> None:
    """The packages that it needs are those of this environment; `make wheel` installs them."""
    source, env = tmp_path / "source", tmp_path / "env"
    copytree(ROOT / "src", source / "src", ignore=ignore_patterns("__pycache__", "*.egg-info"))
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        copy(ROOT / file, source)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
    alone = ("--no-deps", "--no-index")
    wheels = f"--wheel-dir={tmp_path}"

    _run(*pip, "wheel", *alone, "--no-build-isolation", wheels, source)
    _run(sys.executable, "-m", "venv", "--without-pip", env)
    (packages,) = env.glob("lib/python*/site-packages")
    paths = sysconfig.get_paths()
    (packages / "needed.pth").write_text(f"{paths['purelib']}\n{paths['platlib']}\n")
    _run(*pip, "--python", env / "bin" / "python", "install", *alone, tmp_path / WHEEL)

    found = _run(env / "bin" / "python", "-c", "import cs; print(cs.__file__)")
    assert Path(found.strip()).is_relative_to(env)
    assert _run(env / "bin" / "cs", "--version").strip() == VERSION
    shown = _run(env / "bin" / "cs", "demo", cwd=tmp_path)
    assert "Veltrana  done (searched live, 1 search charged)" in shown


def _run(*command: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run(
        [os.fspath(word) for word in command],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=cwd,
        env={name: value for name, value in environment().items() if name != "PYTHONPATH"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
