"""Events as they are stored, their people still sealed.

`sealed_shape` is an event's struct with the bytes of JSON in the place of every field that
holds people.  Reading it costs no key, and skips what is sealed: that is most of the log.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec
from msgspec import NODEFAULT, Raw, inspect

from cs.domain.codec import AnyEvent
from cs.domain.contact import CheckedPerson
from cs.domain.mail.mailbox import Evidence
from cs.domain.personal import Personal
from cs.eventlog.sealing import SEALED_WITH


@cache
def sealed_decoder(event: type[AnyEvent]) -> "msgspec.json.Decoder[Any]":
    """Return what decodes a stored *event* into its `sealed_shape`."""
    return msgspec.json.Decoder(sealed_shape(event))


@cache
def sealed_shape(event: type[AnyEvent]) -> type[msgspec.Struct]:
    """Return the fields of *event*, `msgspec.Raw` where people are, and ``sealed_with``.

    >>> from cs.domain.brand.events import PeopleFound
    >>> stored = b'{"at":"2026-03-01T00:00:00Z","lookup":"brand-1.1","people":[{"sealed":1}]}'
    >>> found = sealed_decoder(PeopleFound).decode(stored)
    >>> found.lookup, bytes(found.people), found.sealed_with
    ('brand-1.1', b'[{"sealed":1}]', {})
    """
    described = inspect.type_info(event)
    assert isinstance(described, inspect.StructType)
    about_people = {f.name: Raw for f in described.fields if holds_people(f.type)}
    ids: Any = (SEALED_WITH, dict[str, str], msgspec.field(default_factory=dict))
    return with_types(event, about_people, ids)


def with_types(
    shape: type[msgspec.Struct], types: Mapping[str, Any], *more: Any
) -> type[msgspec.Struct]:
    """Return *shape* with other *types* of some fields, and with *more* fields.

    What is `msgspec.Raw` is an empty list where it is missing.
    """
    fields: list[Any] = []
    for field in msgspec.structs.fields(shape):
        kind = types.get(field.name, field.type)
        default, factory = field.default, field.default_factory
        if kind is Raw and not field.required:
            default, factory = Raw(b"[]"), NODEFAULT
        has = {"default": default} if factory is NODEFAULT else {"default_factory": factory}
        fields.append((field.name, kind, msgspec.field(**has)))
    name = f"Stored{shape.__name__}"
    return msgspec.defstruct(name, [*fields, *more], kw_only=True, frozen=True)


#: What verification found, conversations as they are stored: nobody but who reveals reads them.
StoredEvidence: Any = with_types(Evidence, {"conversation": Raw})
StoredChecked: Any = with_types(CheckedPerson, {"evidence": tuple[StoredEvidence, ...]})


def holds_people(kind: inspect.Type) -> bool:
    """Return whether a value of *kind* is personal, or has a personal one in it."""
    match kind:
        case inspect.StructType(cls=cls, fields=fields):
            return issubclass(cls, Personal) or any(holds_people(f.type) for f in fields)
        case inspect.VarTupleType(item_type=item):
            return holds_people(item)
        case inspect.UnionType(types=types):
            return any(map(holds_people, types))
        case _:
            return False
