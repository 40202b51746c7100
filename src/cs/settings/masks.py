"""Which settings are not shown as they are."""

import re
from typing import Any

#: Settings that are never printed.
SECRET = frozenset({"kafka_password", "opinion_key"})
#: Settings that hold an address with a password in it.
WITH_PASSWORD = frozenset({"postgres", "keys_postgres", "stages_postgres", "opinion_url"})
MASK = "********"
#: Settings of which nothing wrong is shown with its cause, either.
MASKED = SECRET | WITH_PASSWORD


def masked(name: str, value: Any) -> Any:
    """Return *value* as it may be shown.

    >>> masked("postgres", "postgresql://cs:secret@db/cs")
    'postgresql://cs:********@db/cs'
    """
    if name in SECRET and value is not None:
        return MASK
    if name in WITH_PASSWORD and isinstance(value, str):
        hidden = re.sub(r"(?<=:)[^:@/]*(?=@[^@]*$)", MASK, value)
        return re.sub(r"(?i)(password=)[^&]*", rf"\g<1>{MASK}", hidden)
    return value
