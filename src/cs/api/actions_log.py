"""A line in the log of each process for what an operator did, once its event has come."""

from collections.abc import Sequence

from structlog import get_logger

from cs.domain.operator_actions import act_of
from cs.eventlog.port import RecordedEvent

log = get_logger()


def log_actions(page: Sequence[RecordedEvent]) -> None:
    """Log what operators did in *page*: ``api_paused``, ``key_revoked`` and so on, and who.

    Of a person only that it was one.
    """
    for recorded in page:
        act = act_of(recorded.stream, recorded.event)
        if act is None:
            continue
        category, _, rest = act.of.partition("-")
        fields = {
            "key": rest if category == "key" else None,
            "brand": act.of if category == "brand" else None,
            "units": act.units,
            "by": act.by,
        }
        log.info(
            act.what, **{name: value for name, value in fields.items() if value is not None}
        )
