"""The view behind ``GET /usage`` and the list of keys: one row a key."""

from datetime import date, datetime, timedelta

import msgspec
from msgspec.structs import replace

from cs.domain.key import (
    KeyIssued,
    KeyLimited,
    KeyRevoked,
    KeyRotated,
    QuotaGranted,
    SearchAdmitted,
    SearchSettled,
)
from cs.domain.operator_actions import OperatorAct, act_of
from cs.eventlog.port import RecordedEvent
from cs.projections.table import Table

#: Acts of operators that the row of a key shows; the log has all of them.
ACTS = 10
#: A forecast of more days has no date.
FAR_DAYS = 3_650


class UsageRow(msgspec.Struct, frozen=True, kw_only=True):
    label: str
    last4: str
    secret_hash: str
    old_secret_hash: str | None = None  # of the secret before, if it was left time
    old_until: datetime | None = None
    issued_at: datetime
    quota: int
    used: int = 0
    reserved: int = 0
    searches: int = 0
    last_search_at: datetime | None = None
    revoked: bool = False
    acts: tuple[OperatorAct, ...] = ()  # of operators, the newest ACTS, oldest first

    def runs_out_on(self, now: datetime) -> date | None:
        """Return the day when nothing is left, at the average use from its issue until *now*.

        ``None``: it is not foreseeable, or the key cannot be used any more.
        """
        if self.revoked or not 0 < self.used < self.quota:
            return None
        a_day = self.used / max((now - self.issued_at) / timedelta(days=1), 1)
        return day_after((self.quota - self.used) / a_day, now)


def day_after(days: float, now: datetime) -> date | None:
    """Return the day so many *days* from *now*; ``None``: it is more than `FAR_DAYS` away."""
    return (now + timedelta(days=days)).date() if days <= FAR_DAYS else None


def _key_id(recorded: RecordedEvent) -> str | None:
    stream = recorded.stream
    return stream.removeprefix("key-") if stream.startswith("key-") else None


def _fold(before: UsageRow | None, recorded: RecordedEvent) -> UsageRow | None:
    event = recorded.event
    if isinstance(event, KeyIssued):
        row = UsageRow(
            label=event.label,
            last4=event.last4,
            secret_hash=event.secret_hash,
            issued_at=event.at,
            quota=event.quota,
        )
        return _noted(row, recorded)
    if before is None:
        return None
    match event:
        case SearchAdmitted():
            return replace(
                before,
                reserved=before.reserved + 1,
                searches=before.searches + 1,
                last_search_at=event.at,
            )
        case SearchSettled(charged=charged):
            return replace(before, reserved=before.reserved - 1, used=before.used + charged)
        case KeyRotated(secret_hash=secret_hash, last4=last4, old_until=old_until):
            row = replace(
                before,
                secret_hash=secret_hash,
                old_secret_hash=None if old_until is None else before.secret_hash,
                old_until=old_until,
                last4=last4,
            )
            return _noted(row, recorded)
        case KeyRevoked():
            return _noted(replace(before, revoked=True), recorded)
        case QuotaGranted(units=units):
            return _noted(replace(before, quota=before.quota + units), recorded)
        case KeyLimited():
            return _noted(before, recorded)
        case _:
            return before


def _noted(row: UsageRow, recorded: RecordedEvent) -> UsageRow:
    act = act_of(recorded.stream, recorded.event)
    return row if act is None else replace(row, acts=(*row.acts, act)[-ACTS:])


#: By the id of the key, tagged by the hash of the secret that opens it.
USAGE = Table(
    "usage",
    UsageRow,
    frozenset(
        {
            KeyIssued,
            KeyRotated,
            KeyRevoked,
            QuotaGranted,
            KeyLimited,
            SearchAdmitted,
            SearchSettled,
        }
    ),
    _key_id,
    _fold,
    lambda row: None if row.revoked else row.secret_hash,
)

#: By the id of the key, tagged by the hash of the secret before, which may open it for a time.
OLD_SECRETS = Table(
    "oldsecrets",
    UsageRow,
    frozenset({KeyIssued, KeyRotated, KeyRevoked}),
    _key_id,
    _fold,
    lambda row: None if row.revoked else row.old_secret_hash,
)
