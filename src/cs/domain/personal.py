"""Base of values about one person.

Every struct that holds a name, a headline, an address or a line of an SMTP
conversation derives from `Personal`.  The event log seals each such value as one
piece under the data key of that person (docs/architecture.md, "Personal data"); the
domain itself sees plain values and knows nothing of keys.
"""

import msgspec


class Personal(msgspec.Struct, frozen=True, kw_only=True, tag_field="personal"):
    """A value about one person, wherever it is nested in an event.

    Attributes:
        person: Reference of the person within one lookup: ``p1``, ``p2``, ...  Says
            nothing about who it is, so it stays readable when the rest is sealed.
    """

    person: str
