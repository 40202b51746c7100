"""HTML from values: text is escaped, markup is made here and nowhere else."""

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

from cs.domain.names.plain_text import written_out


class Html(str):
    """Markup.  `el` makes it; whatever else is text."""

    __slots__ = ()


#: What may stand in an element: text is escaped, ``None`` is nothing.
Inside: TypeAlias = "str | int | float | Iterable[Inside] | None"

#: Elements without an end.
_VOID = frozenset({"br", "hr", "meta"})


def el(tag: str, *inside: Inside, **attributes: str | float | bool | None) -> Html:
    """Return an element of *inside*.

    Args:
        tag: Its name, of ours.
        inside: In order.
        attributes: ``class_`` is ``class``, ``aria_label`` is ``aria-label``.  Those that are
            ``None`` or false are left out; true has no value.

    >>> el("p", "a < b", el("br"), class_="note")
    '<p class="note">a &lt; b<br></p>'
    """
    said = "".join(
        _attribute(name.rstrip("_").replace("_", "-"), value)
        for name, value in attributes.items()
    )
    start = f"<{tag}{said}>"
    return Html(start) if tag in _VOID else Html(f"{start}{joined(*inside)}</{tag}>")


def joined(*inside: Inside) -> Html:
    """Return *inside*, one after the other."""
    return Html("".join(map(_one, inside)))


def _one(inside: Inside) -> str:
    match inside:
        case None:
            return ""
        case Html():
            return inside
        case str():
            return text(inside)
        case int() | float():
            return str(inside)
        case _:
            return joined(*inside)


def text(said: str) -> Html:
    r"""Return *said*, from anywhere, as text.

    Controls are written out: some are no characters of HTML, others turn the direction of
    what follows.

    >>> text("<b>\u202e")
    '&lt;b&gt;\\u202e'
    """
    return Html(escape(written_out(said, keep="\n")))


def _attribute(name: str, value: str | float | bool | None) -> str:
    match value:
        case None | False:
            return ""
        case True:
            return f" {name}"
        case _:
            return f' {name}="{text(str(value))}"'
