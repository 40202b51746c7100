"""Answers of a Wikibase API (Wikidata's), typed, and how their statements are read.  Pure."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

#: Sites called as Wikipedias are that are none.
_NO_WIKIPEDIA = frozenset(
    {"commonswiki", "mediawikiwiki", "metawiki", "sourceswiki", "specieswiki", "wikidatawiki"}
)
#: PHP writes an empty map as ``[]``.
Empty = list[Any]


class WikibaseFault(msgspec.Struct, frozen=True):
    code: str
    info: str = ""


class Text(msgspec.Struct, frozen=True):
    value: str


class WikidataNameMatch(msgspec.Struct, frozen=True):
    text: str = ""


class WikidataHit(msgspec.Struct, frozen=True):
    """One item that ``wbsearchentities`` found, and the name it was found by."""

    id: str
    label: str | None = None
    match: WikidataNameMatch = WikidataNameMatch()


class WikidataHits(msgspec.Struct, frozen=True):
    search: tuple[WikidataHit, ...] = ()
    error: WikibaseFault | None = None


class DataValue(msgspec.Struct, frozen=True):
    value: Any  # a text, or a map whose shape the property decides


class Snak(msgspec.Struct, frozen=True):
    snaktype: str = "value"
    datavalue: DataValue | None = None


class Statement(msgspec.Struct, frozen=True):
    mainsnak: Snak
    rank: str = "normal"
    qualifiers: Mapping[str, tuple[Snak, ...]] | Empty = {}


class WikidataItem(msgspec.Struct, frozen=True):
    labels: Mapping[str, Text] | Empty = {}
    aliases: Mapping[str, tuple[Text, ...]] | Empty = {}
    claims: Mapping[str, tuple[Statement, ...]] | Empty = {}
    sitelinks: Mapping[str, Any] | Empty = {}

    @property
    def articles(self) -> int:
        """In how many Wikipedias it has an article, if that was asked for."""
        sites = self.sitelinks if isinstance(self.sitelinks, Mapping) else {}
        return sum(site.endswith("wiki") and site not in _NO_WIKIPEDIA for site in sites)

    @property
    def label(self) -> str | None:
        """Its name; brands are more and more labelled once for all languages ("mul")."""
        labels = self.labels if isinstance(self.labels, Mapping) else {}
        return next((labels[code].value for code in ("en", "mul") if code in labels), None)

    @property
    def other_names(self) -> tuple[str, ...]:
        by_language = self.aliases if isinstance(self.aliases, Mapping) else {}
        names = (text.value for texts in by_language.values() for text in texts)
        return tuple(dict.fromkeys(names))


class WikidataItems(msgspec.Struct, frozen=True):
    entities: Mapping[str, WikidataItem] | Empty = {}
    error: WikibaseFault | None = None


def values(item: WikidataItem, name: str, *, now: datetime) -> tuple[str, ...]:
    """Return what *item* says for property *name* today, texts or item ids.

    The preferred statements if there are any, else the normal ones; never deprecated
    ones or those that ended (P582) before *now*.
    """
    current = [
        (statement.rank, value)
        for statement in _statements(item, name)
        if statement.rank != "deprecated"
        and not _has_ended(statement, now)
        and (value := _value(statement.mainsnak)) is not None
    ]
    preferred = [value for rank, value in current if rank == "preferred"]
    return tuple(dict.fromkeys(preferred or [value for _, value in current]))


def _statements(item: WikidataItem, name: str) -> tuple[Statement, ...]:
    return item.claims.get(name, ()) if isinstance(item.claims, Mapping) else ()


def _value(snak: Snak) -> str | None:
    if snak.snaktype != "value" or snak.datavalue is None:
        return None
    match snak.datavalue.value:
        case str(text):
            return text
        case {"id": str(number)}:
            return number
        case _:
            return None


def _has_ended(statement: Statement, now: datetime) -> bool:
    return any(_is_past(snak, now) for snak in _qualifiers(statement, "P582"))


def _qualifiers(statement: Statement, name: str) -> Iterator[Snak]:
    if isinstance(statement.qualifiers, Mapping):
        yield from statement.qualifiers.get(name, ())


def _is_past(end: Snak, now: datetime) -> bool:
    """Say whether *end* is over; an end that is not known has been."""
    if end.snaktype == "novalue":
        return False
    match end.datavalue:
        case DataValue(value={"time": str(time)}):
            return _moment(time) <= (now.year, now.month, now.day)
        case _:
            return True


def _moment(time: str) -> tuple[int, ...]:
    """Return year, month and day of ``+2021-06-30T00:00:00Z``; 0 for what is not said."""
    sign = -1 if time.startswith("-") else 1
    parts = time.lstrip("+-").partition("T")[0].split("-")
    year, *rest = (int(part) if part.isdecimal() else 0 for part in parts)
    return (sign * year, *rest)
