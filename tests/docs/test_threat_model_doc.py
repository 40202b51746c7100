"""The threat model names places that are there, and links that lead somewhere."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / "threat-model.md", ROOT / "SECURITY.md"]


def test_every_place_it_names_is_there() -> None:
    text = PAGES[0].read_text()
    named = set(re.findall(r"`([a-z_]+(?:/[\w/.*-]*|\.py))`", text))

    missing = [
        name for name in named if not any(found(base, name) for base in (ROOT, ROOT / "src/cs"))
    ]

    assert len(named) > 15
    assert missing == []


def found(base: Path, name: str) -> bool:
    """Return whether *name* is there, its parts plain or with a ``*``."""
    return any(base.glob(name.rstrip("/")))


def test_every_link_leads_to_a_page() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)[^)]*\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
