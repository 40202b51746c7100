"""An operator of the console: a name, a role, and the hash of a token.

Stream category ``operator``; one stream per operator, ``operator-<name>``.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import reduce
from typing import Literal, assert_never, get_args

import msgspec
from msgspec.structs import replace

from cs.domain.messages import Command, Event
from cs.domain.refusal import Refusal

#: Each may do what those before it may: see; act; open and erase people.
OperatorRole = Literal["viewer", "operator", "privacy"]
ROLES: tuple[OperatorRole, ...] = get_args(OperatorRole)
#: A name as a proxy may send it: a login, or an e-mail address.
NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}", re.ASCII)


class OperatorCreated(Event, frozen=True, kw_only=True):
    """An operator was created, or was given a new token or role.

    Attributes:
        token_hash: SHA-256 of the token, hex.
        by: Account or label of who did it.
    """

    role: OperatorRole
    token_hash: str
    by: str | None = None


class OperatorRevoked(Event, frozen=True, kw_only=True):
    by: str | None = None


ConsoleOperatorEvent = OperatorCreated | OperatorRevoked

#: Topics of stored events: never renamed or reused.
EVENT_TOPICS: Mapping[str, type[ConsoleOperatorEvent]] = {
    "operator.created.v1": OperatorCreated,
    "operator.revoked.v1": OperatorRevoked,
}


class CreateOperator(Command, frozen=True, kw_only=True):
    role: OperatorRole
    token_hash: str
    by: str | None = None


class RevokeOperator(Command, frozen=True, kw_only=True):
    by: str | None = None


class ConsoleOperator(msgspec.Struct, frozen=True):
    """State of an operator; without a role it may do nothing."""

    role: OperatorRole | None = None
    token_hash: str = ""
    created_at: datetime | None = None
    last_at: datetime = datetime.min.replace(tzinfo=UTC)

    def may(self, role: OperatorRole) -> bool:
        """Return whether this operator may do what *role* may."""
        return self.role is not None and ROLES.index(self.role) >= ROLES.index(role)


INITIAL = ConsoleOperator()


def operator_stream(name: str) -> str:
    """Return the stream of the operator *name*, in small letters.

    Raises:
        Refusal: ``operator-invalid``: it is no name.
    """
    if not NAME.fullmatch(name.lower()):
        raise Refusal(
            "operator-invalid",
            "a name has up to 64 letters, digits and . _ @ + -, and begins with one of the "
            "first two",
        )
    return f"operator-{name.lower()}"


def decide(
    command: CreateOperator | RevokeOperator, state: ConsoleOperator
) -> tuple[ConsoleOperatorEvent, ...]:
    """Return the events that *command* causes; ``()`` if there is nothing to revoke."""
    at = max(command.at, state.last_at)
    match command:
        case CreateOperator(role=role, token_hash=token_hash, by=by):
            return (OperatorCreated(role=role, token_hash=token_hash, by=by, at=at),)
        case RevokeOperator(by=by):
            return () if state.role is None else (OperatorRevoked(by=by, at=at),)
        case _:
            assert_never(command)


def evolve(state: ConsoleOperator, event: ConsoleOperatorEvent) -> ConsoleOperator:
    """Return *state* after *event*.  Never raises: what happened, happened."""
    match event:
        case OperatorCreated():
            created_at = state.created_at or event.at
            return ConsoleOperator(event.role, event.token_hash, created_at, event.at)
        case OperatorRevoked():
            return replace(state, role=None, token_hash="", last_at=event.at)
        case _:
            assert_never(event)


def fold(
    events: Iterable[ConsoleOperatorEvent], state: ConsoleOperator = INITIAL
) -> ConsoleOperator:
    """Rebuild an operator from its stream."""
    return reduce(evolve, events, state)
