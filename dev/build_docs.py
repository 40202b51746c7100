"""Make one site of the documents, with search, in `build/docs`.

Run by `make docs`.  Sphinx and its theme have an environment of their own, `.venv-docs`, made
when first needed, so that a change of code does not wait for it.  A link that leads nowhere,
or a page that is in no list of `dev/site/conf.py`, ends it with exit code 1.
"""

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv-docs"
PINS = ROOT / "requirements" / "docs.txt"
STAMP = VENV / ".made-from"
SITE = ROOT / "build" / "docs"

FRONT = """<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=docs/README.html">
<title>Contact search</title>
<a href="docs/README.html">Documents, by reader</a>
"""


def main() -> int:
    try:
        set_up()
        shutil.rmtree(SITE, ignore_errors=True)
        build()
        if foreign := loaded_from_elsewhere():
            print("Pages of the site load what other hosts have:", *foreign, sep="\n")
            return 1
    except subprocess.CalledProcessError as error:
        print(f"`{' '.join(map(str, error.cmd))}` failed; its words are above.")
        return 1
    print(f"{SITE.relative_to(ROOT)}/index.html")
    return 0


def set_up() -> None:
    wanted = hashlib.sha256(f"{sys.version} {ROOT}".encode() + PINS.read_bytes()).hexdigest()
    if STAMP.exists() and STAMP.read_text() == wanted:
        return
    print(f"Setting up {VENV} (once; later runs are instant) ...", flush=True)
    run(sys.executable, "-m", "venv", "--clear", VENV)
    pip = (VENV / "bin" / "python", "-m", "pip", "install", "--quiet")
    run(*pip, "--disable-pip-version-check", "--require-hashes", "-r", PINS)
    STAMP.write_text(wanted)


def build() -> None:
    sphinx = (VENV / "bin" / "python", "-m", "sphinx", "--quiet", "--builder", "html")
    strict = ("--fresh-env", "--fail-on-warning", "--keep-going")
    places = ("--conf-dir", ROOT / "dev" / "site", "--doctree-dir", ROOT / "build" / "doctrees")
    run(*sphinx, *strict, *places, ROOT, SITE)
    (SITE / "index.html").write_text(FRONT, "utf-8")


def loaded_from_elsewhere() -> list[str]:
    """Return pages and styles that name another host for a script, a font or a picture."""
    tags = r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=[\"'](?:https?:)?//"
    styles = r"(?:url\(|@import)\s*[\"']?(?:https?:)?//"
    return [
        path.relative_to(ROOT).as_posix()
        for suffix, pattern in (("html", tags), ("css", styles))
        for path in SITE.rglob(f"*.{suffix}")
        if re.search(pattern, path.read_text("utf-8"))
    ]


def run(*command: str | Path) -> None:
    subprocess.run(command, check=True, cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
