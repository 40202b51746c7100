"""The page around its content: head, policy, looks, title and foot."""

import base64
import hashlib
from importlib.resources import files

from cs.history.page.markup import Html, Inside, el, joined

_CSS = files("cs.history.page").joinpath("page.css").read_text(encoding="utf-8")


def page(title: str, *content: Inside, lead: Inside = None, foot: Inside = None) -> bytes:
    """Return a page that stands by itself, in UTF-8.

    Args:
        title: Its heading, and the name of its tab.
        content: In order; sections (`cs.history.page.blocks.section`) as a rule.
        lead: One line below the heading.
        foot: Small print below everything.
    """
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy()),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="referrer", content="no-referrer"),
        el("meta", name="robots", content="noindex"),
        el("title", title),
        el("style", Html(_CSS)),
    )
    body = el(
        "body",
        el("header", el("h1", title), el("p", lead, class_="lead") if lead else None),
        el("main", content),
        el("footer", foot) if foot else None,
    )
    html = joined(Html("<!doctype html>\n"), el("html", head, body, lang="en"), Html("\n"))
    return html.encode()


def policy() -> str:
    """Return the Content-Security-Policy of every page: its own looks, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(_CSS.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
