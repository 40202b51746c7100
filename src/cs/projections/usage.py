"""The view behind ``GET /usage`` and the list of keys: one row a key."""

from datetime import datetime
from typing import ClassVar

import msgspec
from msgspec.structs import replace

from cs.domain.key import (
    KeyIssued,
    KeyRevoked,
    KeyRotated,
    QuotaGranted,
    SearchAdmitted,
    SearchSettled,
)
from cs.domain.messages import Event
from cs.domain.operator_actions import OperatorAct, act_of
from cs.eventlog.port import RecordedEvent
from cs.projections.projection import SealBody
from cs.projections.rows import Rows, Table

#: What operators did to a key that its row shows; the log has all of it.
ACTS = 10


class UsageRow(msgspec.Struct, frozen=True, kw_only=True):
    label: str
    last4: str
    secret_hash: str
    issued_at: datetime
    quota: int
    used: int = 0
    reserved: int = 0
    searches: int = 0
    revoked: bool = False
    acts: tuple[OperatorAct, ...] = ()  # of operators, the newest ACTS, oldest first


def _secret(row: UsageRow) -> str | None:
    return None if row.revoked else row.secret_hash


#: Tagged by what opens the key.
USAGE = Table("usage", UsageRow, _secret)


class Usage:
    name = "usage"
    version = 3  # 2: tagged by the hash of the secret; 3: what operators did
    tables = (USAGE,)
    reads: ClassVar[frozenset[type[Event]] | None] = frozenset(
        {KeyIssued, KeyRotated, KeyRevoked, QuotaGranted, SearchAdmitted, SearchSettled}
    )

    def apply(self, rows: Rows, recorded: RecordedEvent, seal: SealBody) -> None:
        del seal
        event = recorded.event
        key_id = recorded.stream.removeprefix("key-")
        if isinstance(event, KeyIssued):
            row = UsageRow(
                label=event.label,
                last4=event.last4,
                secret_hash=event.secret_hash,
                issued_at=event.at,
                quota=event.quota,
            )
            rows.put(USAGE, key_id, _noted(row, recorded))
            return
        if not recorded.stream.startswith("key-"):
            return
        before = rows.get(USAGE, key_id)
        if before is None:
            return
        match event:
            case SearchAdmitted():
                row = replace(
                    before, reserved=before.reserved + 1, searches=before.searches + 1
                )
            case SearchSettled(charged=charged):
                row = replace(before, reserved=before.reserved - 1, used=before.used + charged)
            case KeyRotated(secret_hash=secret_hash, last4=last4):
                row = _noted(replace(before, secret_hash=secret_hash, last4=last4), recorded)
            case KeyRevoked():
                row = _noted(replace(before, revoked=True), recorded)
            case QuotaGranted(units=units):
                row = _noted(replace(before, quota=before.quota + units), recorded)
            case _:
                return
        rows.put(USAGE, key_id, row)


def _noted(row: UsageRow, recorded: RecordedEvent) -> UsageRow:
    act = act_of(recorded.stream, recorded.event)
    return row if act is None else replace(row, acts=(*row.acts, act)[-ACTS:])
