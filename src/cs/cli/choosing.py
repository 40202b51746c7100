"""Options that choose a part of the history: brands, keys, lookups, times and positions.

The options are declared here, once.  An option that names an unknown key, brand or position
is an error that says where to find the known ones.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, TypeVar

import msgspec
from cyclopts import Group, Parameter, Token

from cs.assembly.operator_command import CommandContext
from cs.cli.command import Invocation, Output, number
from cs.cli.output import Table, errors, reading, stop
from cs.domain.brand.brand import stream_of
from cs.domain.contact import Query
from cs.domain.disclosure import clean_reason
from cs.domain.names.brand_names import canonical_domain, clean_brand
from cs.domain.refusal import Refusal
from cs.history.brands import BrandStream, UnknownBrand, brands_meant
from cs.history.history import History
from cs.history.identities import identities
from cs.history.selection import BadSelection, Selection
from cs.projections.searches import instant

T = TypeVar("T")


def _time(_: object, tokens: Sequence[Token]) -> datetime:
    """Return the time that an option names; without a zone it is UTC."""
    try:
        return _as_time(tokens[0].value)
    except ValueError:
        raise ValueError("a time is written 2026-03-01T12:00:00Z") from None


def _as_time(said: str) -> datetime:
    at = datetime.fromisoformat(said)
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


At = Annotated[
    str | None, Parameter(help="As of this position or time (2026-03-01T12:00:00Z); else now.")
]
Since = Annotated[
    datetime | None,
    Parameter(converter=_time, help="From this time on: 2026-03-01 or 2026-03-01T12:00:00Z."),
]
Until = Annotated[datetime | None, Parameter(converter=_time, help="Before this time.")]
Brand = Annotated[
    str | None,
    Parameter(help="Of this brand, however it was asked for; with --domain, of both."),
]
Domain = Annotated[str | None, Parameter(help="Of the brand of this web domain.")]
Lookup = Annotated[str | None, Parameter(help="Of this lookup, by its id.")]
Last = Annotated[
    int | None, number(0, 10**9, "So many, the newest; 0: all. 100, but with --json all.")
]

#: Rows of a long list that are shown unless --last says more.
NEWEST = 100
#: Most ids that an error lists.
_NAMED = 8
_WHICH = Group("Which events", help="All of them unless an option says otherwise.", sort_key=1)


def _several(name: str, about: str) -> Parameter:
    said = f"{about} Can be given several times."
    return Parameter(name=name, show_default=False, help=said)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ChosenSearches:
    """The options that choose searches, as they are written."""

    brand: Brand = None
    domain: Domain = None
    lookup: Lookup = None
    since: Since = None
    until: Until = None


@Parameter(name="*", group=_WHICH)
@dataclass(frozen=True, kw_only=True)
class Chosen(ChosenSearches):
    """The options that choose events, as they are written."""

    types: Annotated[
        tuple[str, ...],
        _several(
            "--type",
            "Of this type: `key.search-settled.v1`, `key.search-settled` (all versions) or "
            "`search-settled`.",
        ),
    ] = ()
    categories: Annotated[
        tuple[str, ...],
        _several(
            "--category",
            "Of streams of this category: key, brand, mail-domain, person, disclosure or "
            "service.",
        ),
    ] = ()
    streams: Annotated[tuple[str, ...], _several("--stream", "Of this stream.")] = ()
    keys: Annotated[tuple[str, ...], _several("--key", "Of the API key of this id.")] = ()
    mail_domain: Annotated[str | None, Parameter(help="Of this mail domain.")] = None
    after: Annotated[int, Parameter(help="After this position.")] = 0
    upto: Annotated[int | None, Parameter(help="Up to this position.")] = None

    def checked(self) -> Selection:
        """Return the selection without brands, which are looked up in the log.

        Raises:
            SystemExit: Some of it is written wrongly.
        """
        check_period(self.since, self.until)
        if self.upto is not None and self.after >= self.upto:
            stop(f"--after: a position before {self.upto}, the last one", 2)
        query_of(self.brand, self.domain)
        try:
            said = {n: v for n, v in vars(self).items() if n not in {"brand", "domain"}}
            keys = tuple(key.removeprefix("key-") for key in self.keys)
            return Selection(**said | {"keys": keys})
        except BadSelection as bad:
            stop(str(bad), 2)

    async def selection(self, history: History, *, growing: bool = False) -> Selection:
        """Return the part of *history* that is chosen.

        Args:
            history: What is there.
            growing: Streams and positions may still appear: only keys and brands are checked.

        Raises:
            SystemExit: It names something that is not there.
        """
        chosen = self.checked()
        for key in chosen.keys:
            if not await history.is_there(f"key-{key}"):
                stop(f"there is no key {key}; there are {await _keys(history)}")
        if not growing:
            await self._check_there(history, chosen)
        query = query_of(self.brand, self.domain)
        if query is None:
            return chosen
        meant = tuple(each.stream for each in await chosen_brands(history, query))
        return msgspec.structs.replace(chosen, brands=meant)

    async def _check_there(self, history: History, chosen: Selection) -> None:
        head = await history.head()
        for option, position in (("--after", self.after), ("--upto", self.upto)):
            if position is not None and position > head:
                stop(f"{option}: the log ends at position {head}, before {position}")
        for stream in chosen.streams:
            if not await history.is_there(stream):
                stop(f"there is no stream {stream}; `cs events export` shows those there are")
        if self.lookup is not None:
            await check_lookup(history, self.lookup)
        if self.mail_domain and not await history.is_there(f"mail-domain-{self.mail_domain}"):
            stop(f"nothing is known of the mail domain {self.mail_domain}")


def newest(
    call: Invocation,
    every: Sequence[T],
    last: int | None,
    table: Callable[[Sequence[T]], Table],
) -> Output:
    """Return the newest of *every*, as many as ``--last`` says, in a *table* of them."""
    most = (0 if call.json else NEWEST) if last is None else last
    shown = every[-most:]
    text: list[str | Table] = [table(shown)]
    if len(shown) < len(every):
        text.append(f"the newest {len(shown)} of {len(every)}; --last 0 shows all")
    return Output(shown, text)


def check_period(since: datetime | None, until: datetime | None) -> None:
    if since is not None and until is not None and since >= until:
        stop(f"--since: a time before {instant(until)}, where the period ends", 2)


def query_of(brand: str | None, domain: str | None) -> Query | None:
    """Return the brand that the options ``--brand`` and ``--domain`` name, if they do."""
    if brand is None and domain is None:
        return None
    return Query(
        None if brand is None else clean_brand(brand),
        None if domain is None else canonical_domain(domain),
    )


async def chosen_brands(
    history: History, query: Query, upto: int | None = None
) -> Sequence[BrandStream]:
    """Return the streams that *query* means, and print which on standard error.

    Raises:
        SystemExit: None.
    """
    try:
        found = await brands_meant(history, query, upto)
    except UnknownBrand as unknown:
        stop(str(unknown))
    asked = ", ".join(each.asked for each in found)
    errors.print(f"matched: {asked}")
    return found


async def check_lookup(history: History, lookup: str) -> None:
    """End the command if there is no *lookup*, and list the newest ones of its brand."""
    if "." in lookup and await history.run(lookup) is not None:
        return
    runs = await history.runs(stream_of(lookup)) if "." in lookup else []
    if runs:
        of_brand = ", ".join(run.lookup for run in runs[-_NAMED:])
        stop(f"there is no lookup {lookup}; of its brand there are {of_brand}")
    stop(f"there is no lookup {lookup}; `cs searches list --json` shows them")


async def _keys(history: History) -> str:
    issued = Selection(types=("key.issued",))
    found = [event.stream.removeprefix("key-") async for event in history.events(issued)]
    more = ", …" if len(found) > _NAMED else ""
    return ", ".join(found[:_NAMED]) + more if found else "none"


async def position_of(history: History, option: str, said: str) -> int:
    """Return the position that *said*, the value of *option*, means; for a time the last one.

    Digits are a position, but for eight that are a date.

    Raises:
        SystemExit: It is neither a position that there is nor a time.
    """
    try:
        at = _as_time(said)
    except ValueError:
        at = None
    if said.isdecimal() and not (at and len(said) == len("20260301")):
        head = await history.head()
        if int(said) > head:
            stop(f"{option}: the log ends at position {head}, before {said}", 2)
        return int(said)
    if at is None:
        wanted = "a position or a time such as 2026-03-01T12:00:00Z"
        stop(f"{option}: {wanted}, not {said!r}", 2)
    return await history.position_at(at + _left_out(said))


async def end_of(history: History, at: str | None) -> int:
    """Return the last position that is looked at with ``--at`` *at*; ``None``: the log's last.

    Raises:
        SystemExit: It is neither a position nor a time.
    """
    return await history.head() if at is None else await position_of(history, "--at", at)


def _left_out(said: str) -> timedelta:
    """Return how much later than the time *said* its last digit reaches.

    A time is printed without some of its digits, so what happened within its last one counts;
    the queries of docs/analysts.md compare as many characters.

    >>> _left_out("2026-03-01T12:00:00Z"), _left_out("2026-03-01T12:00:00.125Z")
    (datetime.timedelta(microseconds=999999), datetime.timedelta(microseconds=999))
    """
    fraction = re.search(r"[.,](\d{1,6})", said)
    digits = len(fraction[1]) if fraction else 0
    return timedelta(microseconds=10 ** (6 - digits) - 1)


def check_reason(_: object, why: str | None) -> None:
    """Raise `ValueError` if *why* is given and is no reason."""
    try:
        if why is not None:
            clean_reason(why)
    except Refusal as refused:
        raise ValueError(str(refused)) from refused


Reveal = Annotated[
    str | None,
    Parameter(
        validator=check_reason,
        help="Open people, and say why in a sentence: it is stored with your name before "
        "anything is shown. Name a ticket, not a person.",
    ),
]


async def pseudonyms(data: CommandContext, people: Iterable[str]) -> Mapping[str, str]:
    """Return the pseudonyms of *people*, ``<lookup>#p1``, by those; of erased people none."""
    with reading("telling people apart") as progress:
        async with identities(data.log, data.keys, progress) as people_known:
            return await people_known.of(people)
