"""The address of a person's profile page, in one form however it was written.  Pure.

Whether two of them are one person's goes by it: a source may leave out what another says.
"""

import re
from urllib.parse import SplitResult, quote, unquote, urlsplit

#: As sources mostly write it, in the one form already: taking it apart takes ten times as long,
#: and reading a whole history does it for every person.
_IN_FORM = re.compile(r"https://www\.linkedin\.com/in/[a-z0-9-]+")


def person_page(url: str) -> str | None:
    """Return the LinkedIn profile that *url*, of any country's host, leads to.

    >>> person_page("http://uk.linkedin.com/in/Jane-Doe-1a2b/en?originalSubdomain=uk")
    'https://www.linkedin.com/in/jane-doe-1a2b'
    """
    if _IN_FORM.fullmatch(url):
        return url
    match path_at(url, "linkedin.com"):
        case ["in", slug, *_]:
            return f"https://www.linkedin.com/in/{quoted(slug.lower())}"
        case _:
            return None


def path_at(url: str, service: str) -> list[str]:
    """Return the parts of the path of *url*, decoded; none if it is not at *service*."""
    split = split_address(url)
    host = (split.hostname or "") if split else ""
    if split is None or not (host == service or host.endswith(f".{service}")):
        return []
    return [unquote(part) for part in split.path.split("/") if part]


def split_address(url: str) -> SplitResult | None:
    """Return the parts of *url*; ``None`` if it is no address of a web page."""
    try:
        split = urlsplit(url.strip())
    except ValueError:
        return None
    return split if split.scheme in {"http", "https", ""} and split.hostname else None


def quoted(name: str) -> str:
    """Return *name* as a part of a path."""
    return quote(name, safe="&'._-")
