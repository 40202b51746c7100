"""A page of the documents that is made of the code: written, or checked to be up to date."""

import argparse
from collections.abc import Callable
from pathlib import Path


def write_or_check(page: Path, make: Callable[[], str], about: str | None) -> int:
    """Write *page* as *make* makes it; with ``--check`` only compare.  Return the exit code.

    Args:
        page: The file.
        make: Returns the text it is to have.
        about: What ``--help`` says.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--check", action="store_true", help="write nothing")
    if not parser.parse_args().check:
        page.write_text(make())
        return 0
    if page.exists() and page.read_text() == make():
        return 0
    print(f"docs/{page.name} is not what is generated: make format")
    return 1
