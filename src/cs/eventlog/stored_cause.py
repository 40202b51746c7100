"""The cause of an event, in its stored JSON: ``"caused_by": {"kind": "request", …}``.

Next to the event's data and not a field of its struct, as ``sealed_with`` is: every type
of event has it at once, and versions that know nothing of causes skip it.  The event of a
cause that is not known is stored as it always was.
"""

import msgspec

from cs.domain.causation import AnyCause

#: Its name in a stored event.
CAUSED_BY = "caused_by"
_NAMED = f',"{CAUSED_BY}":'.encode()


class _StoredCause(msgspec.Struct):
    caused_by: AnyCause | None = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_StoredCause).decode


def with_cause(state: bytes, cause: AnyCause | None) -> bytes:
    """Return *state*, an event as it is stored, with its *cause* behind what it says.

    >>> from cs.domain.causation import EventCause
    >>> with_cause(b'{"at":"2026-01-01T00:00:00Z"}', EventCause(position=7))
    b'{"at":"2026-01-01T00:00:00Z","caused_by":{"kind":"event","position":7}}'
    """
    if cause is None:
        return state
    return b"%b%b%b}" % (state[:-1], _NAMED, _encode(cause))


def cause_in(state: bytes) -> AnyCause | None:
    """Return the cause in *state*, an event as it is stored.

    ``None``: it is not known, since an older version stored the event, or a newer one did
    and has a kind of cause that this one does not know.

    Raises:
        msgspec.MsgspecError, UnicodeDecodeError: *state* is no JSON.
    """
    try:
        return _decode(state).caused_by
    except msgspec.ValidationError:
        return None
