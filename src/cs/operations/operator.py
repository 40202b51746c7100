"""The operator's commands on the log: keys, quota, pausing, one brand's reuse, disclosures.

They work while a service runs: each is one append with an expected version.
"""

import os
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import msgspec

from cs.bus.dead_letters import DeadLetter
from cs.domain import console_operator, disclosure, key, service
from cs.domain.api_key import OPERATOR_PREFIX, hash_key, make_key
from cs.domain.brand import brand
from cs.domain.brand.brand import brand_stream
from cs.domain.brand.events import ForgetBrand
from cs.domain.causation import OperatorCause, StartCause
from cs.domain.codec import AnyEvent
from cs.domain.console_operator import (
    CreateOperator,
    OperatorRole,
    RevokeOperator,
    operator_stream,
)
from cs.domain.contact import Query
from cs.domain.disclosure import DisclosedEvents, DisclosureMade
from cs.domain.key import (
    GrantQuota,
    IssueKey,
    Key,
    KeyCommand,
    KeyRotated,
    LimitKey,
    RevokeKey,
    RotateKey,
)
from cs.domain.rate_limits import PER_DAY, PER_MINUTE
from cs.domain.service import ChooseWorld, HandleDeadLetter, Pause, Resume, World
from cs.eventlog.categories import SERVICE
from cs.eventlog.port import EventLog, Where
from cs.eventlog.streams import Streams
from cs.runtime.clock import Clock
from cs.runtime.ids import random_id

#: Quota of a new key unless another is named, in searches.
DEFAULT_QUOTA = 100


class NewSecret(msgspec.Struct, frozen=True):
    """A key's id and its secret, which is shown once and stored nowhere.

    Attributes:
        old_until: When the secret before it ends; ``None``: it has ended, or there was none.
    """

    id: str
    key: str
    old_until: datetime | None = None


class Operator:
    """Commands of an operator; each appends its events.

    Args:
        by: The account or label of the operator, which is stored in the events.
    """

    def __init__(self, streams: Streams, clock: Clock, by: str | None = None) -> None:
        self._streams = streams
        self._clock = clock
        self._by = by

    async def create_key(
        self, label: str, quota: int, per_minute: int = PER_MINUTE, per_day: int = PER_DAY
    ) -> NewSecret:
        """Issue a key with *quota* searches, of which it may make so many a minute and a day.

        Raises:
            Refusal: ``quota-invalid``, ``limit-invalid``.
        """
        new, secret = _new_secret(random_id("key_", 16))
        issue = IssueKey(
            label=label,
            quota=quota,
            per_minute=per_minute,
            per_day=per_day,
            **secret,
            **self._act(),
        )
        await self._change_key(new.id, issue, "keys create")
        return new

    async def limit_key(self, key_id: str, per_minute: int | None, per_day: int | None) -> Key:
        """Let the key make so many searches a minute and a day; return the key after it.

        ``None`` leaves a limit as it is.

        Raises:
            Refusal: ``key-missing``, ``limit-invalid``.
        """
        limit = LimitKey(per_minute=per_minute, per_day=per_day, **self._act())
        await self._change_key(key_id, limit, "keys limit")
        state: Key = (await self._streams.key(key_id)).state
        return state

    async def rotate_key(self, key_id: str, overlap: timedelta = timedelta()) -> NewSecret:
        """Give the key a new secret; quota and history stay.

        The old one stops working once *overlap* is over, and one before that at once.

        Raises:
            Refusal: ``key-missing``, ``key-revoked``, ``overlap-invalid``.
        """
        new, secret = _new_secret(key_id)
        rotate = RotateKey(**secret, overlap=overlap, **self._act())
        (rotated,) = await self._change_key(key_id, rotate, "keys rotate")
        assert isinstance(rotated, KeyRotated)
        return msgspec.structs.replace(new, old_until=rotated.old_until)

    async def revoke_key(self, key_id: str) -> bool:
        """Revoke the key for good; return whether it was not before.

        Raises:
            Refusal: ``key-missing``.
        """
        return bool(await self._change_key(key_id, RevokeKey(**self._act()), "keys revoke"))

    async def grant_quota(self, key_id: str, units: int) -> Key:
        """Add *units* to the key's quota, or take some away; return the key after it.

        Raises:
            Refusal: ``key-missing``, ``quota-invalid``.
        """
        await self._change_key(key_id, GrantQuota(units=units, **self._act()), "keys grant")
        state: Key = (await self._streams.key(key_id)).state
        return state

    async def create_operator(self, name: str, role: OperatorRole) -> str:
        """Give the operator of the console *name* a role and a new token; return the token.

        Raises:
            Refusal: ``operator-invalid``: it is no name.
        """
        token = make_key(os.urandom(32), OPERATOR_PREFIX)
        create = CreateOperator(
            role=role, token_hash=hash_key(token), by=self._by, at=self._clock.now()
        )
        decide = partial(console_operator.decide, create)
        await self._change(operator_stream(name), decide, "operators create")
        return token

    async def revoke_operator(self, name: str) -> bool:
        """Revoke an operator of the console; return whether there was one.

        Raises:
            Refusal: ``operator-invalid``: it is no name.
        """
        revoke = RevokeOperator(by=self._by, at=self._clock.now())
        decide = partial(console_operator.decide, revoke)
        return bool(await self._change(operator_stream(name), decide, "operators revoke"))

    async def pause(self) -> bool:
        return bool(
            await self._change(SERVICE, partial(service.decide, Pause(**self._act())), "pause")
        )

    async def resume(self) -> bool:
        return bool(
            await self._change(
                SERVICE, partial(service.decide, Resume(**self._act())), "resume"
            )
        )

    async def handle_dead_letter(self, letter: DeadLetter, *, again: bool) -> None:
        """Record that *letter* is sent again or discarded.

        Raises:
            Refusal: ``letter-handled``: it was handled after it was published.
        """
        handle = HandleDeadLetter(
            letter=letter.place,
            published_at=letter.published_at,
            again=again,
            **self._act(),
        )
        await self._change(SERVICE, partial(service.decide, handle), "console")

    async def choose_world(self, world: World) -> None:
        """Tie the log to *world*, as the first process to start on it does.

        Raises:
            Refusal: ``other-world``: it is tied to the other one.
        """
        choose = ChooseWorld(world=world, at=self._clock.now())
        decide = partial(service.decide, choose)
        await self._streams.change(SERVICE, decide, caused_by=StartCause())

    async def forget_brand(self, query: Query) -> bool:
        """Make the next search for *query* a live one; return whether it was not already."""
        decide = partial(brand.decide, ForgetBrand(**self._act()))
        return bool(await self._change(brand_stream(query), decide, "brands forget"))

    async def disclose(
        self,
        command: str,
        why: str,
        asked: DisclosedEvents,
        *,
        upto: int | None,
        open_until: datetime | None = None,
        file: str | None = None,
    ) -> int:
        """Record that people are opened, before they are; return the event's position.

        Args: as the fields of `cs.domain.disclosure.DisclosureMade`.

        Raises:
            Refusal: ``reason-invalid``: *why* is no reason.
            LogUnavailable: It may or may not be stored.
        """
        draft = DisclosureMade(
            command=command,
            why=why,
            asked=asked,
            upto=upto,
            open_until=open_until,
            file=file,
            **self._act(),
        )
        _, position = await self._streams.change(
            random_id("disclosure-", 16),
            partial(disclosure.decide, draft),
            caused_by=OperatorCause(command=command, who=self._by),
        )
        return position

    def _act(self) -> dict[str, Any]:
        """Return who acts, and when, as fields of a command."""
        return {"by": self._by, "at": self._clock.now()}

    async def _change_key(
        self, key_id: str, command: KeyCommand, name: str
    ) -> Sequence[AnyEvent]:
        return await self._change(f"key-{key_id}", partial(key.decide, command), name)

    async def _change(
        self, stream: str, decide: Callable[..., Sequence[AnyEvent]], name: str
    ) -> Sequence[AnyEvent]:
        """Append the events of *decide* for the command *name*; return them."""
        caused_by = OperatorCause(command=name, who=self._by)
        events, _ = await self._streams.change(stream, decide, caused_by=caused_by)
        return events


async def operators(
    log: EventLog, streams: Streams
) -> Sequence[tuple[str, console_operator.ConsoleOperator]]:
    """Return every operator of the console by name, revoked ones too.

    Raises:
        LogUnavailable, DamagedEvent: The log cannot be read.
    """
    where = Where(topics=frozenset(console_operator.EVENT_TOPICS))
    found = {each.stream for each in await log.select(where, 0, await log.head())}
    return [
        (stream.removeprefix("operator-"), (await streams.load(stream)).state)
        for stream in sorted(found)
    ]


def _new_secret(key_id: str) -> tuple[NewSecret, dict[str, Any]]:
    """Return a new secret of *key_id*, and what is stored of it, as fields of a command."""
    new = NewSecret(key_id, make_key(os.urandom(32)))
    return new, {"secret_hash": hash_key(new.key), "last4": new.key[-4:]}
