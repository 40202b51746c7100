"""Sphinx: one site of the documents, as they stand in the repository (`make docs`).

Nothing is fetched when a page is looked at: scripts, styles and the index for searching are
files of the site.  Any warning, a link that leads nowhere among them, fails the build.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx

project = "Contact search"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "docs/README"
include_patterns = ["*.md", "docs/**"]
exclude_patterns = ["build/**", "src/**", "tests/**", "LICENSE"]
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]
suppress_warnings = ["misc.highlighting_failure"]  # examples leave out parts: {…}
html_theme = "furo"
html_title = "Contact search"
html_copy_source = False
html_show_sphinx = html_show_copyright = False
html_show_sourcelink = False

ROOT = Path(__file__).resolve().parents[2]


def navigation() -> dict[str, list[str]]:
    """Return what stands at the side: the pages that each part of `docs/README.md` links to.

    A page that is in no part fails the build.
    """
    parts: dict[str, list[str]] = {}
    seen: set[str] = set()
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    for part in re.split(r"^## ", index, flags=re.MULTILINE)[1:]:
        heading, _, text = part.partition("\n")
        pages = re.findall(r"\]\(([\w./-]+)\.md\)", text)
        parts[heading] = [page for page in dict.fromkeys(pages) if page not in seen]
        seen.update(pages)
    return {heading: pages for heading, pages in parts.items() if pages}


def adapted(_app: Sphinx, page: str, source: list[str]) -> None:
    """Say to Sphinx what GitHub needs no saying: places for links, and what is at the side."""
    text = source[0]
    text = re.sub(r'^<a id="([\w-]+)"></a>$', r"(\1)=", text, flags=re.MULTILINE)
    text = re.sub(r'<a id="([\w-]+)"></a>(\S+)', r"[\2]{#\1}", text)
    # Notes next to code and data are read there: of the site they are no pages.
    text = re.sub(r"\[([^]]+)\]\((?:\.\./)*(?:src|tests|dev)/[^)]+\.md\)", r"\1", text)
    if page == root_doc:
        text += "".join(side(caption, pages) for caption, pages in navigation().items())
    if page == "docs/decisions/README":
        text += side("Decisions", ["[0-9]*"])
    source[0] = text


def side(caption: str, pages: list[str]) -> str:
    lines = "\n".join(pages)
    return f"\n```{{toctree}}\n:hidden:\n:glob:\n:caption: {caption}\n\n{lines}\n```\n"


def setup(app: Sphinx) -> None:
    app.connect("source-read", adapted)
