"""What events of keys say, their searches among them, as rows of facts."""

from collections.abc import Mapping

from cs.domain.codec import AnyEvent
from cs.domain.key import (
    KeyIssued,
    KeyRevoked,
    KeyRotated,
    QuotaGranted,
    SearchAdmitted,
    SearchRepeated,
    SearchSettled,
)
from cs.history.export.fact_rows import FactRows, Says, of_no_people
from cs.history.export.reading import ReadEvent


def _issued(to: FactRows, read: ReadEvent) -> None:
    _key_event(to, read, "issued", read.said.label, read.said.quota)


def _key_event(
    to: FactRows, read: ReadEvent, what: str, label: str | None = None, units: int | None = None
) -> None:
    event = read.event
    to.rows["key_event"].append(
        (event.position, event.at, _key(event.stream), what, label, units, read.said.by)
    )


def _admitted(to: FactRows, read: ReadEvent) -> None:
    event, said = read.event, read.said
    to.rows["admitted"].append(
        (
            event.position,
            event.at,
            _key(event.stream),
            said.search,
            said.brand,
            said.query.brand,
            said.query.domain,
            said.lookup,
            said.request,
            said.idempotency is not None,
        )
    )


def _repeated(to: FactRows, read: ReadEvent) -> None:
    event = read.event
    to.rows["repeated"].append((event.position, event.at, _key(event.stream), read.said.search))


def _settled(to: FactRows, read: ReadEvent) -> None:
    event, said = read.event, read.said
    to.rows["settled"].append(
        (
            event.position,
            event.at,
            _key(event.stream),
            said.search,
            said.lookup,
            said.outcome,
            said.charged,
            said.cached,
        )
    )


def _key(stream: str) -> str:
    return stream.removeprefix("key-")


SAYS: Mapping[type[AnyEvent], Says] = {
    KeyIssued: of_no_people(_issued),
    KeyRotated: of_no_people(lambda to, read: _key_event(to, read, "rotated")),
    KeyRevoked: of_no_people(lambda to, read: _key_event(to, read, "revoked")),
    QuotaGranted: of_no_people(
        lambda to, read: _key_event(to, read, "granted", units=read.said.units)
    ),
    SearchAdmitted: of_no_people(_admitted),
    SearchRepeated: of_no_people(_repeated),
    SearchSettled: of_no_people(_settled),
}
