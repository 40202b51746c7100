"""Values in the words of a page."""

from cs.history.page.blocks import Tone
from cs.history.words import OUTCOMES


def outcome(said: str) -> str:
    """Return how something ended, with what that means.

    >>> outcome("no_contacts")
    'no_contacts: nobody in a marketing role'
    """
    return f"{said}: {OUTCOMES[said]}" if said in OUTCOMES else said


def yes(said: bool | None) -> str | None:
    return None if said is None else "yes" if said else "no"


def good(is_good: bool) -> Tone:
    return "good" if is_good else "plain"


def people_were(number: int) -> str:
    """Return *number* with its noun and verb.

    >>> people_were(1), people_were(2)
    ('1 person was', '2 people were')
    """
    return "1 person was" if number == 1 else f"{number} people were"
