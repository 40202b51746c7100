"""Rows of bounces in notifications that nest them: Amazon SES's, as they are or inside SNS's.

Their shape is in the Amazon SES Developer Guide, "Amazon SNS notification contents for Amazon
SES": ``bounce`` has ``bounceType``, ``bounceSubType``, ``timestamp`` and
``bouncedRecipients``, each with ``emailAddress``, ``status`` and ``diagnosticCode``.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

#: What a notification's rows are called.
FIELDS = (
    "email",
    "event",
    "bounce type",
    "bounce classification",
    "status",
    "diagnostic",
    "time",
)
#: SNS's envelope has the notification as text.
_ENVELOPE = "Message"


def rows_of(item: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows in *item*: itself, or one for each recipient that it nests."""
    item = _unpacked(item)
    bounce = item.get("bounce")
    recipients = bounce.get("bouncedRecipients") if isinstance(bounce, dict) else None
    if isinstance(recipients, list) and isinstance(bounce, dict):
        for recipient in recipients:
            if isinstance(recipient, dict):
                yield {
                    "email": recipient.get("emailAddress"),
                    "event": item.get("notificationType") or item.get("eventType"),
                    "bounce type": bounce.get("bounceType"),
                    "bounce classification": bounce.get("bounceSubType"),
                    "status": recipient.get("status"),
                    "diagnostic": recipient.get("diagnosticCode"),
                    "time": bounce.get("timestamp"),
                }
        return
    yield item


def _unpacked(item: Mapping[str, Any]) -> Mapping[str, Any]:
    text = item.get(_ENVELOPE)
    if item.get("Type") != "Notification" or not isinstance(text, str):
        return item
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return item
