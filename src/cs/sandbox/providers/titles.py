"""What a file of people makes of a title: a department and a level."""

import re
from typing import NamedTuple

from cs.sandbox.folding import fold

_MARKETING = re.compile(
    r"market|social|influenc|creator|brand|partner|ambassador|communit|content|campaign"
)
_COMMUNICATION = re.compile(r"communicat|public relations|\bpr\b|press")
_LEVELS = (
    ("cxo", re.compile(r"\bchief\b|\bcmo\b|\bceo\b|founder")),
    ("vp", re.compile(r"\bvp\b|vice president")),
    ("director", re.compile(r"direct")),
    ("head", re.compile(r"\bhead\b|\bleit")),
    ("manager", re.compile(r"manager|\blead\b|responsable")),
)


class SortedTitle(NamedTuple):
    """A title's *department*, ``marketing``, ``communication`` or ``other``, and *level*."""

    department: str
    level: str


def sort_title(title: str) -> SortedTitle:
    """Return department and level of *title*, as roughly as such files do.

    >>> tuple(sort_title("Head of Influencer Marketing")), tuple(sort_title("Press Officer"))
    (('marketing', 'head'), ('communication', 'entry'))
    """
    text = fold(title)
    department = "other"
    if _MARKETING.search(text):
        department = "marketing"
    elif _COMMUNICATION.search(text):
        department = "communication"
    level = next((name for name, words in _LEVELS if words.search(text)), "entry")
    return SortedTitle(department, level)
