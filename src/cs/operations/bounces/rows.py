"""Rows of bounces: cells of a table, objects of JSON, notifications of Amazon SES.  Pure."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from importlib.resources import files
from typing import Any

import msgspec

from cs.domain.mail.bounce import Bounce, ToolWord, enhanced_code
from cs.domain.mail.syntax import ascii_mailbox, is_mailbox
from cs.sources.tables.table_file import BadRow

_SIGNS = re.compile(r"[^a-z0-9]+")
#: Fields that may say what happened.
_SAYING_WHAT = ("event", "type", "class", "status")
#: Of several words for what happened, the one that takes least away counts.
_STRONGEST_FIRST = (ToolWord.BLOCK, ToolWord.SOFT, ToolWord.HARD)
_LONGEST_TEXT = 2_000
#: How far ahead of our clock a time may be: clocks differ, and time zones are mistaken.
AHEAD = timedelta(days=1)
#: Seconds since 1970 beyond which a number is milliseconds: the year 5138.
_MILLISECONDS = 1e11


def _word(text: str) -> str:
    return _SIGNS.sub("", text.lower())


_WORDS = tomllib.loads((files(__package__) / "reports.toml").read_text("utf-8"))
#: By field, the names of its column.
FIELDS: Mapping[str, Sequence[str]] = _WORDS["columns"]
_KINDS = {kind: {_word(each) for each in words} for kind, words in _WORDS["kinds"].items()}
_TOOL_WORDS = {word: kind for kind in ToolWord for word in _KINDS[kind.value]}
_BOUNCE = "bounce"


def rows_of(item: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows in *item*: itself, or one for each recipient of a notification of SES."""
    if item.get("Type") == "Notification" and isinstance(text := item.get("Message"), str):
        # SNS's envelope has the notification as text.
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            item = msgspec.json.decode(text, type=dict[str, Any])
    bounce = item.get("bounce")
    recipients = bounce.get("bouncedRecipients") if isinstance(bounce, dict) else None
    if not isinstance(recipients, list):
        yield item
        return
    assert isinstance(bounce, dict)
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


def bounce_of(
    row: Mapping[str, Any], columns: Mapping[str, str], now: datetime
) -> Bounce | None:
    """Return the bounce of *row*; ``None`` if it reports another event.

    Raises:
        BadRow: It should report one, and does not.
    """
    texts = {field: _text(row.get(column)) for field, column in columns.items()}
    what = {field: _word(texts.get(field, "")) for field in _SAYING_WHAT}
    words = set(what.values())
    if words.intersection(_KINDS["no_bounce"]):
        return None
    if what["type"] != _BOUNCE or words.intersection(_KINDS["undecided"]):
        words.discard(_BOUNCE)
    return make_bounce(
        address=texts.get("address", ""),
        at=_time(texts["at"], columns["at"], now) if texts.get("at") else None,
        status=texts.get("status", ""),
        code=texts.get("code", ""),
        diagnostic=texts.get("diagnostic", ""),
        words=words,
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
    """Return a bounce; all but *address* may be empty.

    Raises:
        BadRow: *address* is none.
    """
    mailbox = ascii_mailbox(address.strip().strip("<>")).lower()
    if not mailbox:
        raise BadRow("it names no e-mail address")
    if not is_mailbox(mailbox):
        raise BadRow("what it names is no e-mail address")
    kinds = {_TOOL_WORDS[word] for word in words if word in _TOOL_WORDS}
    codes = [text for text in (status, code) if text]
    number = next((int(c[:3]) for c in codes if re.match(r"[45]\d\d(?!\d)", c)), None)
    enhanced = next((e for c in codes if (e := _enhanced_in(c)) is not None), None)
    return Bounce(
        address=mailbox,
        at=at,
        status=enhanced,
        code=number,
        diagnostic=diagnostic[:_LONGEST_TEXT],
        tool_word=next((each for each in _STRONGEST_FIRST if each in kinds), None),
    )


def _enhanced_in(code: str) -> str | None:
    found = enhanced_code(code[3:].lstrip(" -") if re.match(r"\d{3}[ -]", code) else code)
    return found if found is not None and found[0] in "45" else None


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool | list | dict):
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip().encode(errors="replace").decode()


def _time(text: str, column: str, now: datetime) -> datetime:
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
    """Return the moment of *text*, in UTC; ``None`` if it is no time.

    Read are ISO 8601, seconds or milliseconds since 1970, and times as in mail (RFC 5322).
    Eight digits are a day of ISO 8601, not seconds of the year 1970.

    >>> read_time("20261101") == read_time("2026-11-01") == read_time("1793491200")
    True
    """
    for read in (_since_1970, datetime.fromisoformat, parsedate_to_datetime):
        try:
            at = read(text)
            return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, TypeError, OverflowError, OSError):
            continue
    return None


def _since_1970(text: str) -> datetime:
    if len(text) == len("20261101"):
        raise ValueError("a day")
    number = float(text)
    return datetime.fromtimestamp(number / 1000 if number > _MILLISECONDS else number, UTC)
