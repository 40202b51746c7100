"""What axe, the checker of accessibility, finds on a page in a real browser."""

from functools import cache
from pathlib import Path
from runpy import run_path
from typing import Any

from docs.browser import Browser
from harness.servers.missing import Missing

DEV = Path(__file__).parents[2] / "dev"
_RUN = """axe.run(document, {resultTypes: ["violations"]}).then((found) =>
  found.violations.flatMap((rule) => rule.nodes.map((node) =>
    `${rule.id}: ${rule.help}: ${node.target} ${node.failureSummary}`)))"""


@cache
def axe() -> str:
    """Return the script, of the version that `dev/node` names.

    Raises:
        Missing: It cannot be had here.
    """
    node_tools = run_path(str(DEV / "node_tools.py"))
    try:
        folder = node_tools["installed"](node_tools["found_node"]())
    except node_tools["Unavailable"] as error:
        raise Missing(str(error)) from error
    script: Path = folder / "node_modules" / "axe-core" / "axe.min.js"
    return script.read_text("utf-8")


def look(browser: Browser, url: str, *, width: int, dark: bool) -> None:
    """Open *url* in a window *width* CSS pixels wide, as who likes it *dark* sees it."""
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.ask("Emulation.setEmulatedMedia", features=[scheme])
    browser.open(url, width=width)


def violations(browser: Browser) -> list[Any]:
    """Return what axe finds wrong with the page that is open, one line each."""
    browser.value(axe() + "; 0")
    found: list[Any] = browser.value(_RUN)
    return found
