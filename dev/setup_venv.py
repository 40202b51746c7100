"""Make `.venv` from the pinned requirements; instant when nothing changed.

Needs Python 3.11 or newer and nothing else.  Run by `make setup`.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / ".made-from"
REQUIREMENTS = ROOT / "requirements" / "dev.txt"

NO_PIP = """\
Python {version} at {python} has neither `ensurepip` nor `pip`, so packages cannot be installed.
Install one of them and run the same command again, for example:
  Debian, Ubuntu:  apt-get install python3-venv
  Fedora:          dnf install python3-pip
  Alpine:          apk add py3-pip"""


def main() -> int:
    if sys.version_info < (3, 11):
        print(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}.")
        print("Name another with: make setup PYTHON=/path/to/python3.12")
        return 1
    wanted = fingerprint()
    if STAMP.exists() and STAMP.read_text() == wanted:
        return 0
    print(f"Setting up {VENV} (once; later runs are instant) ...", flush=True)
    try:
        make()
    except subprocess.CalledProcessError as error:
        print(f"Set-up stopped: `{' '.join(map(str, error.cmd))}` failed; its words are above.")
        print("Most often the package index could not be reached. `make setup` tries again.")
        return 1
    STAMP.write_text(wanted)
    return 0


def fingerprint() -> str:
    """Changes with the pins, the package's own metadata, the interpreter and the folder.

    Not with the settings of tools, which stand in pyproject.toml, too.
    """
    import tomllib  # noqa: PLC0415  an older Python is told of its age first

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    metadata = {name: value for name, value in project.items() if name != "tool"}
    packaging = project["tool"]["setuptools"]
    digest = hashlib.sha256(f"{sys.version} {ROOT} {metadata} {packaging}".encode())
    for path in (REQUIREMENTS, Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def make() -> None:
    shutil.rmtree(VENV, ignore_errors=True)
    pip = [str(PYTHON), "-m", "pip"]
    if available("ensurepip"):
        run(sys.executable, "-m", "venv", str(VENV))
    elif available("pip"):
        run(sys.executable, "-m", "venv", "--without-pip", str(VENV))
        pip = [sys.executable, "-m", "pip", "--python", str(PYTHON)]
    else:
        raise SystemExit(NO_PIP.format(version=sys.version.split()[0], python=sys.executable))
    quiet = ("--quiet", "--disable-pip-version-check", "--no-input")
    run(*pip, "install", *quiet, "--no-deps", "--require-hashes", "-r", str(REQUIREMENTS))
    run(*pip, "install", *quiet, "--no-deps", "--no-build-isolation", "--editable", str(ROOT))


def available(module: str) -> bool:
    found = subprocess.run(
        [sys.executable, "-c", f"import {module}"], capture_output=True, check=False
    )
    return found.returncode == 0


def run(*command: str) -> None:
    environment = os.environ | {"PIP_ROOT_USER_ACTION": "ignore"}
    subprocess.run(command, check=True, cwd=ROOT, env=environment)


if __name__ == "__main__":
    sys.exit(main())
