"""Rows of what sending tools export about bounces, by the names of their columns.  Pure.

Any table is read whose columns are called so.  Two exports whose names are documented by who
writes them: the events of SendGrid's Event Webhook (``email, timestamp, event, type, status,
reason, bounce_classification``: Twilio, "Event Webhook Reference"), and Amazon SES's
notifications (`cs.operations.bounces.notifications` makes rows of those).
"""

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any

import msgspec

from cs.domain.mail.bounce import Bounce, ToolWord, enhanced_code
from cs.domain.mail.syntax import ascii_mailbox, is_mailbox

#: By field what its column may be called, the best first; case and signs say nothing.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "address": (
        *("email", "email address", "recipient", "recipient email", "to email", "rcpt to"),
        *("rcpt", "mailbox", "address", "final recipient", "to"),
    ),
    "event": ("event", "event type", "notification type", "record type"),
    "type": ("bounce type", "type", "severity", "bounce", "kind"),
    "class": ("bounce classification", "bounce category", "bounce cat", "classification"),
    "status": (
        *("enhanced status", "enhanced code", "enhanced status code", "dsn status", "dsn"),
        *("status", "status code"),
    ),
    "code": ("smtp code", "reply code", "response code", "bounce code", "error code", "code"),
    "diagnostic": (
        *("diagnostic code", "diagnostic", "dsn diag", "smtp response", "response", "reason"),
        *("bounce reason", "error message", "error", "message", "description", "details"),
    ),
    "at": (
        *("bounced at", "bounce time", "bounce date", "timestamp", "time", "date", "created"),
        *("created at", "occurred at", "event time", "time logged"),
    ),
}
#: What tools call what happened, without blanks and signs.
_WORDS: Mapping[str, ToolWord] = {
    **dict.fromkeys(
        (
            *("hard", "hardbounce", "hardbounced", "permanent", "permanentfail", "bounce"),
            *("invalid", "invalidaddress", "bademailaddress", "badmailbox", "nosuchuser"),
        ),
        ToolWord.HARD,
    ),
    **dict.fromkeys(
        (
            *("soft", "softbounce", "softbounced", "transient", "temporary", "temporaryfail"),
            *("deferred", "deferral", "delayed", "mailboxfull", "quotaissues"),
        ),
        ToolWord.SOFT,
    ),
    **dict.fromkeys(
        (
            *("block", "blocked", "policy", "policyrelated", "spam", "spamrelated", "content"),
            *(
                "contentrelated",
                "reputation",
                "spamnotification",
                "dmarcpolicy",
                "virusrelated",
            ),
            *("contentrejected", "attachmentrejected", "messagetoolarge", "frequencyorvolume"),
        ),
        ToolWord.BLOCK,
    ),
}
#: What happened if an event is no bounce at all, or nothing was sent.
_NO_BOUNCE = frozenset(
    (
        *("delivered", "delivery", "processed", "sent", "send", "accepted", "open", "opened"),
        *("click", "clicked", "unsubscribe", "unsubscribed", "groupunsubscribe", "dropped"),
        *("groupresubscribe", "spamreport", "complaint", "complained", "reject", "rejected"),
        *("renderingfailure", "subscription", "suppressed", "onaccountsuppressionlist"),
        *("unsubscribedrecipient", "relayed", "expanded"),
    )
)
#: Of which kind it is whoever says so does not know: Amazon SES, SendGrid.
_UNDECIDED = frozenset({"undetermined", "unclassified", "technical"})
#: "Bounce" as a type is SendGrid's word for a permanent one; as an event it says no kind.
_BOUNCE = "bounce"
#: Fields that may say what happened.
_SAYING_WHAT = ("event", "type", "class", "status")
_SIGNS = re.compile(r"[^a-z0-9]+")
_LONGEST_TEXT = 2_000
_MOST_COLUMNS = 1_000
#: How far ahead of our clock a time may be: clocks differ, and time zones are mistaken.
AHEAD = timedelta(days=1)
#: Seconds since 1970 beyond which a number is milliseconds: the year 5138.
_MILLISECONDS = 1e11


class BadRow(ValueError):
    """A row that tells of no bounce that could be recorded; never names the address."""


def columns_of(names: Iterable[str]) -> dict[str, str]:
    """Return by field which of the first *names* holds it, each at most once."""
    by_word: dict[str, str] = {}
    for name in islice(names, _MOST_COLUMNS):
        by_word.setdefault(_word(name), name)
    found: dict[str, str] = {}
    for field, called in _COLUMN_WORDS.items():
        taken = set(found.values())
        column = next((by_word[word] for word in called if word in by_word), None)
        if column is not None and column not in taken:
            found[field] = column
    return found


def bounce_of(
    row: Mapping[str, Any], columns: Mapping[str, str], now: datetime
) -> Bounce | None:
    """Return the bounce that *row* tells of; ``None``: it tells of something else.

    Raises:
        BadRow: It should tell of one, and does not.
    """
    texts = {field: _text(row.get(column)) for field, column in columns.items()}
    what = {field: _word(texts.get(field, "")) for field in _SAYING_WHAT}
    if _NO_BOUNCE.intersection(what.values()):
        return None
    is_type = what["type"] == _BOUNCE and not _UNDECIDED.intersection(what.values())
    kinds = [*({*what.values()} - {_BOUNCE}), *([_BOUNCE] if is_type else [])]
    return make_bounce(
        address=texts.get("address", ""),
        at=_time(texts["at"], columns["at"], now) if texts.get("at") else None,
        status=texts.get("status", ""),
        code=texts.get("code", ""),
        diagnostic=texts.get("diagnostic", ""),
        words=kinds,
    )


def make_bounce(
    *,
    address: str,
    at: datetime | None,
    status: str,
    diagnostic: str,
    code: str = "",
    words: Iterable[str] = (),
) -> Bounce:
    """Return the bounce that these tell of; all but *address* may be empty.

    Raises:
        BadRow: One of them is not what it is to be.
    """
    mailbox = ascii_mailbox(address.strip().strip("<>")).lower()
    if not mailbox:
        raise BadRow("it names no e-mail address")
    if not is_mailbox(mailbox):
        raise BadRow("what it names is no e-mail address")
    said = {_WORDS[word] for each in words if (word := _word(each)) in _WORDS}
    codes = [text for text in (status, code) if text]
    number = next((int(c[:3]) for c in codes if re.match(r"[45]\d\d(?!\d)", c)), None)
    enhanced = next((e for c in codes if (e := _enhanced_in(c)) is not None), None)
    return Bounce(
        address=mailbox,
        at=at,
        status=enhanced,
        code=number,
        diagnostic=diagnostic[:_LONGEST_TEXT],
        tool_word=_strongest(said),
    )


def _strongest(said: set[ToolWord]) -> ToolWord | None:
    """Return of several words the one that takes least away."""
    order = (ToolWord.BLOCK, ToolWord.SOFT, ToolWord.HARD)
    return next((word for word in order if word in said), None)


def _enhanced_in(code: str) -> str | None:
    found = enhanced_code(code[3:].lstrip(" -") if re.match(r"\d{3}[ -]", code) else code)
    return found if found is not None and found[0] in "45" else None


def _word(text: str) -> str:
    return _SIGNS.sub("", text.lower())


_COLUMN_WORDS = {field: [_word(each) for each in names] for field, names in COLUMNS.items()}


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool | list | dict):
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def _time(text: str, column: str, now: datetime) -> datetime:
    """Return the moment that *text*, a cell of *column*, names.

    Raises:
        BadRow: It names none, or one that is still to come; never says what stands there.
    """
    at = read_time(text)
    if at is None:
        raise BadRow(
            f"{column[:40]} is no time: write it as 2026-11-01T09:30:00Z, as seconds since "
            "1970, or as in mail (Sun, 1 Nov 2026 09:30:00 +0000)"
        )
    if at > now + AHEAD:
        raise BadRow(f"{column[:40]} is a time that is still to come: {at.isoformat()}")
    return at


def read_time(text: str) -> datetime | None:
    """Return the moment *text* names, in UTC; ``None``: none.

    Read are ISO 8601, seconds or milliseconds since 1970, and times as in mail (RFC 5322).
    Eight digits are a day of ISO 8601, not seconds of the year 1970.

    >>> read_time("20261101") == read_time("2026-11-01") == read_time("1793491200")
    True
    """
    at = _read_time(text)
    try:
        return None if at is None else at.astimezone(UTC)
    except OverflowError:
        return None


def _read_time(text: str) -> datetime | None:
    try:
        if len(text) != len("20261101"):
            return _since_1970(float(text))
    except ValueError:
        pass
    for read in (_iso, parsedate_to_datetime):
        try:
            at = read(text)
        except (ValueError, TypeError, OverflowError, msgspec.ValidationError):
            continue
        return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return None


def _since_1970(number: float) -> datetime | None:
    seconds = number / 1000 if number > _MILLISECONDS else number
    try:
        return datetime.fromtimestamp(seconds, UTC) if math.isfinite(seconds) else None
    except (OverflowError, OSError):
        return None


def _iso(text: str) -> datetime:
    return datetime.fromisoformat(text)
