"""The categories of streams: how each is folded, and how many states are worth memory.

A stream's name up to its identifying part is its category (docs/architecture.md, "Streams").
"""

from collections.abc import Callable
from typing import Any

import msgspec

from cs.domain import console_operator, disclosure, key, mail_domain, person, service
from cs.domain.brand import brand


class Category(msgspec.Struct, frozen=True):
    """How one kind of stream is folded.

    Attributes:
        initial: The state before the first event.
        evolve: Returns the state after an event.
        cached: States in memory at most; the least recently used goes first.
        rules: The version of `evolve` and of the fields of the state, which snapshots carry.
            Raise it with every change of either that folds a log to another state.  ``None``:
            no snapshots are made, as its streams stay short.
        may_be_stored: Whether a snapshot may be made of a state.
    """

    initial: Any
    evolve: Callable[[Any, Any], Any]
    cached: int = 10_000
    rules: int | None = None
    may_be_stored: Callable[[Any], bool] = lambda _: True


#: A key's state is at most some 25 KB (60 idempotency keys); a brand's a few KB while a
#: lookup runs, when it holds people in clear, and less than one after.
CATEGORIES = {
    "key": Category(key.INITIAL, key.evolve, rules=3),
    "brand": Category(
        brand.INITIAL, brand.evolve, rules=2, may_be_stored=lambda state: state.live is None
    ),
    "mail-domain": Category(mail_domain.INITIAL, mail_domain.evolve),
    "person": Category(person.INITIAL, person.evolve, cached=1_000),
    "disclosure": Category(disclosure.INITIAL, disclosure.evolve, cached=1),
    "operator": Category(console_operator.INITIAL, console_operator.evolve, cached=100),
    "service": Category(service.INITIAL, service.evolve, cached=1),
}


#: The one stream of its category.
SERVICE = "service"


def category_name(stream: str) -> str:
    """Return the name of *stream* up to what identifies it.

    >>> category_name("mail-domain-acme.test"), category_name("key-a")
    ('mail-domain', 'key')
    """
    return "mail-domain" if stream.startswith("mail-domain-") else stream.partition("-")[0]


def category_of(stream: str) -> Category:
    return CATEGORIES[category_name(stream)]


def rules_of(stream: str) -> str | None:
    """Return what snapshots of *stream* say of the rules that made them; ``None``: it has none.

    >>> rules_of("key-a"), rules_of("service")
    ('v3', None)
    """
    rules = category_of(stream).rules
    return None if rules is None else f"v{rules}"
