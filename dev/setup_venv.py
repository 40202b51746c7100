"""Make `.venv` from the pinned requirements; instant when nothing changed.

    setup_venv.py run   # what the service needs
    setup_venv.py dev   # tests and checks, too: added to the same environment

Needs Python 3.11 or newer and nothing else.  Run by the targets of the Makefile.
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
REQUIREMENTS = ROOT / "requirements"
#: Each set contains the one before it, and what builds this package.
PINS = {
    "run": (ROOT / "deploy" / "build.txt", REQUIREMENTS / "run.txt"),
    "dev": (REQUIREMENTS / "dev.txt",),
}
#: The demo uses few of the modules: each is compiled when it is imported, which saves 10 s.
HOW = {"run": ("--no-compile",), "dev": ()}

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
    wanted = sys.argv[1]
    made_from = fingerprint()
    stamp = STAMP.read_text() if STAMP.exists() else ""
    if stamp in (f"{made_from} {wanted}", f"{made_from} dev"):
        return 0
    size = "1 GB, with tests and checks" if wanted == "dev" else "what the service needs"
    print(f"Setting up {VENV} ({size}; once, later runs are instant) ...", flush=True)
    try:
        new = not stamp.startswith(made_from)
        if new:
            make()
        pins = [word for file in PINS[wanted] for word in ("-r", str(file))]
        pip("--require-hashes", *HOW[wanted], *pins)
        if new:
            pip("--no-build-isolation", "--editable", str(ROOT))
    except subprocess.CalledProcessError as error:
        print(f"Set-up stopped: `{' '.join(map(str, error.cmd))}` failed; its words are above.")
        print("Most often the package index could not be reached. `make setup` tries again.")
        return 1
    STAMP.write_text(f"{made_from} {wanted}")
    return 0


def fingerprint() -> str:
    """Return a hash of the pins, the package's metadata, the interpreter and the folder.

    Not with the settings of tools, which stand in pyproject.toml, too.
    """
    import tomllib  # noqa: PLC0415  an older Python gets its message first

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    metadata = {name: value for name, value in project.items() if name != "tool"}
    packaging = project["tool"]["setuptools"]
    digest = hashlib.sha256(f"{sys.version} {ROOT} {metadata} {packaging}".encode())
    for path in (*PINS["run"], *PINS["dev"], Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def make() -> None:
    """Make an empty environment."""
    shutil.rmtree(VENV, ignore_errors=True)
    if available("ensurepip"):
        run(sys.executable, "-m", "venv", str(VENV))
    elif available("pip"):
        run(sys.executable, "-m", "venv", "--without-pip", str(VENV))
    else:
        raise SystemExit(NO_PIP.format(version=sys.version.split()[0], python=sys.executable))


def pip(*words: str) -> None:
    own = (VENV / "bin" / "pip").exists()
    command = (str(PYTHON),) if own else (sys.executable,)
    where = () if own else ("--python", str(PYTHON))
    quiet = ("--quiet", "--disable-pip-version-check", "--no-input", "--no-deps")
    run(*command, "-m", "pip", *where, "install", *quiet, *words)


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
