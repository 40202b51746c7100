"""Brands and mail domains: what is known of each, and how it came about."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request

from cs.console.access import Session
from cs.console.addresses import chosen, domain_link, event_link, lookup_link, position_of
from cs.console.views import NOT_READY, ROWS, Action, Form, Input, Parts, View
from cs.domain.brand.events import LookupStarted
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.mail_domain import BounceReported, DomainLearned
from cs.eventlog.port import NO_STREAM, SealedEvent, Where
from cs.history.brands import words_of
from cs.history.comparing import PersonChange, one_after_another
from cs.history.newest import newest_of
from cs.history.pages import Link, Section, facts, listed
from cs.history.runs import Run
from cs.history.runs import runs as runs_of
from cs.history.words import facts_in_words
from cs.projections.brands import BRANDS, BrandRow
from cs.projections.reading import topics_of

#: Rows of the view that are looked through at once for a name, and how often for one page.
LOOKED_THROUGH, PIECES = 2_000, 10
#: A brand's stream and its row.
_Row = tuple[str, BrandRow]


async def list_brands(parts: Parts, request: Request, _: Session) -> View:
    """Show the brands that were looked up last, or those whose name has some words."""
    word = (chosen(request, "q") or "").lower()
    older: int | str | None
    if word:
        found, older = await _named(parts, word, chosen(request, "from") or "")
        none = "None that was looked through has it in its name."
    else:
        begun, older = await _newest(parts, position_of(request), LookupStarted)
        rows_of = [(each.stream, await parts.views.get(BRANDS, each.stream)) for each in begun]
        found = [(stream, row) for stream, row in rows_of if row is not None]
        none = "None in this part of the log. cs search BRAND makes one."
    rows = [_row(stream, row) for stream, row in found]
    return View(
        title="Brands",
        sections=[listed("Brands", rows, none=none)],
        command="cs brands list",
        filters=[Input("q", "Name or domain", word)],
        place="from" if word else "before",
        older=older,
    )


async def _newest(
    parts: Parts, before: int | None, event: type[LookupStarted | DomainLearned]
) -> tuple[Sequence[SealedEvent], int | None]:
    """Return the last *event* of streams, before *before*: each stream is on one page only."""
    where = Where(topics=topics_of(event))
    events, more = await parts.newest(where, before)
    theirs = replace(where, streams=frozenset(each.stream for each in events))
    every = await parts.log.select(theirs, 0, await parts.log.head())
    last = {each.stream: each.position for each in every}
    return [each for each in events if last[each.stream] == each.position], more


async def _named(
    parts: Parts, word: str, after: str
) -> tuple[Sequence[tuple[str, BrandRow]], str | None]:
    """Return up to `ROWS` brands with *word* in their names, by the ids of their streams."""
    found, ended = list[_Row](), False
    mark = msgspec.json.encode(word).decode()[1:-1]  # as rows have it
    for _ in range(PIECES):
        _, rows = await parts.views.page(BRANDS, after, LOOKED_THROUGH)
        for stream, _, stored in rows:
            after = stream
            if mark in stored.decode().lower():
                row = BRANDS.decode(stored)
                if word in words_of(row.query).lower():
                    found.append((stream, row))
                    if len(found) == ROWS:
                        break
        ended = len(found) < ROWS and len(rows) < LOOKED_THROUGH
        if ended or len(found) == ROWS:
            break
    found.sort(key=lambda each: words_of(each[1].query).lower())
    return found, None if ended else after


async def _asked(parts: Parts, request: Request) -> _Row:
    stream = request.path_params["stream"]
    row = await parts.views.get(BRANDS, stream)
    if row is None:
        raise HTTPException(404, f"there is no brand {stream}; the list of brands has all")
    return stream, row


async def _runs(parts: Parts, stream: str) -> Sequence[Run]:
    return runs_of(reversed(await newest_of(parts.log, parts.streams, stream)))


async def show_brand(parts: Parts, request: Request, _: Session) -> View:
    """Show the runs on a brand over time."""
    stream, row = await _asked(parts, request)
    runs = await _runs(parts, stream)
    later = {after.lookup for _, after in one_after_another(runs)}
    compare = f"/console/brands/{stream}/compare?after="
    rows = [
        {
            "lookup": lookup_link(run.lookup),
            "started_at": run.started_at,
            "outcome": run.outcome or "running",
            "people": len(run.contacts),
            "verified": run.verified,
            "rules": run.ranked_by,
            "changes": Link("since the run before", compare + run.lookup.rpartition(".")[2])
            if run.lookup in later
            else None,
        }
        for run in reversed(runs[-ROWS:])
    ]
    name = words_of(row.query)
    now = {**_row(stream, row), "brand": name}
    return View(
        title=name,
        lead=stream,
        sections=[Section(heading="Now", facts=facts(now)), listed("Runs", rows)],
        command=_compare(row) if len(runs) > 1 else "cs brands list",
        actions=[Action("Forget", f"/console/brands/{stream}/forget")],
    )


async def compare_runs(parts: Parts, request: Request, _: Session) -> View:
    """Show who joined, who left and what changed between two runs, by pseudonym."""
    stream = (await _asked(parts, request))[0]
    pairs = [*one_after_another(await _runs(parts, stream))]
    if not pairs:
        raise HTTPException(404, "fewer than two runs have an answer; search for it again")
    runs = [pairs[0][0], *(after for _, after in pairs)]
    # By what stands after the name of the stream, which is the same in all.
    by_end = {each.lookup.rpartition(".")[2]: each for each in runs}
    ends = [*by_end]
    second = chosen(request, "after") or ends[-1]
    earlier = dict(zip(ends[1:], ends, strict=False))
    first = chosen(request, "before") or earlier.get(second, ends[0])
    if not {first, second} <= {*ends}:
        raise HTTPException(400, "before and after: two runs of this brand with an answer")
    before, after = f"{stream}.{first}", f"{stream}.{second}"
    found = await parts.slow.get("compare", before, after)
    labels = {
        end: f"Run {run.number} · {run.started_at:%F} · {len(run.contacts)} people"
        for end, run in by_end.items()
    }
    rules = [by_end[end].ranked_by for end in (first, second)]
    differ = "The two ranked people by different rules, {} and {}, so a change may be theirs."
    return View(
        title="Two runs",
        lead=f"{labels[first]}, to {labels[second]}",
        notes=[] if rules[0] == rules[1] else [differ.format(*rules)],
        sections=[NOT_READY if found is None else _changes(*found)],
        command=shlex.join(["cs", "compare", before, after]),
        filters=[
            Input(name, name.title(), value=end, options=ends[-ROWS:], labels=labels)
            for name, end in (("before", first), ("after", second))
        ],
    )


def _changes(changes: Sequence[PersonChange], same_people: int) -> Section:
    rows = [
        {
            "person": each.who or (each.now or each.was or {})["person"],
            "change": each.change,
            "fields": each.changed,
            "before": _in_words(each.was),
            "after": _in_words(each.now),
        }
        for each in changes
    ]
    counts = Counter(each.change for each in changes)
    values = {name: counts[name] for name in ("joined", "left", "changed")}
    same = facts({**values, "the_same": same_people})
    return listed("People", rows, facts=same, none="Both runs show the same people.")


def _in_words(one: Mapping[str, Any] | None) -> str | None:
    if one is None:
        return None
    verified = "verified" if one["verified"] else "not verified"
    return ", ".join(filter(None, (one["level"], one["family"], verified)))


async def forget(parts: Parts, request: Request, session: Session, _: Form) -> str:
    """Make the next search for a brand a live one."""
    row = (await _asked(parts, request))[1]
    changed = await parts.operator(session).forget_brand(row.query)
    return "Forgotten." if changed else "There was nothing to forget."


async def list_mail_domains(parts: Parts, request: Request, _: Session) -> View:
    """Show the mail domains that were learned of last, or what is known of one."""
    domain, older = chosen(request, "domain"), None
    if domain is None:
        found, older = await _newest(parts, position_of(request), DomainLearned)
        rows = [
            {
                "domain": domain_link(name),
                "what": facts_in_words(each.event.facts),
                "learned_at": each.event.at,
                "believed_until": each.event.expires_at,
            }
            for each in await parts.opened(found)
            if isinstance(each.event, DomainLearned)
            for name in [each.stream.removeprefix("mail-domain-")]
        ]
        none = "None in this part of the log. A live search learns of some."
        section = listed("Learned last", rows, none=none)
    else:
        section = await _mail_domain(parts, domain.lower())
    return View(
        title=domain or "Mail domains",
        sections=[section],
        command="cs events export --category=mail-domain"
        if domain is None
        else shlex.join(["cs", "state", f"mail-domain-{domain}"]),
        filters=[Input("domain", "Domain", domain or "", required=True)],
        older=older,
    )


async def _mail_domain(parts: Parts, domain: str) -> Section:
    stream = f"mail-domain-{domain}"
    state = await parts.streams.load(stream)
    if state.version == NO_STREAM:
        return Section(heading="Mail domain", about=f"Nothing is known of {domain}.")
    rows: list[dict[str, Any]] = []
    for each in await newest_of(parts.log, parts.streams, stream, ROWS):
        match each.event:
            case DomainLearned(facts=learned, expires_at=until):
                words = f"{facts_in_words(learned)}; believed until {until:%F %H:%M}"
            case BounceReported(status=status, why=why):
                words = f"bounce {status or ''}: {why}"
            case _:
                continue
        rows.append({"position": event_link(each.position), "at": each.event.at, "what": words})
    known, now = state.state, parts.clock.now()
    believed = known.known(now)
    about = f"Now: {facts_in_words(believed)}"
    if believed != DomainFacts():
        about += f"; believed until {known.expires_at:%F %H:%M}"
    about += f". {len(known.bounced)} mailboxes that mail came back from for good."
    return listed("What is known, and since when", rows, about=about)


def _compare(row: BrandRow) -> str:
    named = ["--", row.query.brand] if row.query.brand else []
    at = ["--domain", row.query.domain] if row.query.domain else []
    return shlex.join(["cs", "compare", *at, *named])


def _row(stream: str, row: BrandRow) -> dict[str, Any]:
    return {
        "brand": Link(words_of(row.query), f"/console/brands/{stream}"),
        "running": row.live is not None,
        "outcome": row.outcome,
        "verified": row.verified,
        "finished_at": row.finished_at,
        "reused_until": row.reused_until,
    }
