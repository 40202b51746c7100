"""``cs resolve``, ``cs classify``, ``cs verify``: one stage by itself, to tune it.

Each reads one item as its argument, or a line each from standard input with ``-``, and
prints one JSON line an item with ``--json``, in the order of the items.  A bad line is
reported and the next one is read.
"""

import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, TypeVar

import msgspec
from cyclopts import App, Parameter

from cs.assembly.plugins import StagePlugins
from cs.assembly.service_checks import (
    NO_FAULT,
    check_sources,
    check_verifiers,
    open_counted_plugins,
)
from cs.assembly.settings_of_plugins import of_source
from cs.cli.choosing import query_of
from cs.cli.command import Invocation, Output, number, on_data, on_settings
from cs.cli.output import Table, stop, warn
from cs.domain.contact import BrandFacts, Person, Query
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.names.brand_names import Unacceptable, canonical_domain, clean_brand
from cs.domain.opinions import nameless, settled
from cs.domain.roles.doubt import doubts
from cs.domain.roles.role import JobRole
from cs.domain.roles.role import classify as role_of
from cs.domain.source_cost import MICROS
from cs.opinions.language_model import LanguageModel, UnsureHeadline
from cs.paid_calls.service import WORKS, CheckedPlugin
from cs.pipeline.brand_resolution import resolve as resolve_brand
from cs.pipeline.cost_meter import asking, metered
from cs.pipeline.verification import ask
from cs.plugins.sources import ANSWERED, BrandSource
from cs.plugins.verifiers import DomainCheck
from cs.sources.brand.directory import bundled
from cs.sources.brand.imported import imported

#: Mail domains whose checks are open at once.
OPEN_DOMAINS = 50
#: Timeout of one call of the language model.
OPINION_TIMEOUT_S = 30.0
#: One line of input.
LINE_BYTES = 64 * 1024
#: Fields that `cs resolve --json` prints of a brand, and the facts they are taken from.
_FACTS = {
    "domain": "domain",
    "linkedin": "linkedin_company_url",
    "parent": "parent_company",
    "instagram": "instagram",
    "tiktok": "tiktok",
}

T = TypeVar("T")


class _Line(msgspec.Struct):
    id: str | int | None = None


class AskedBrand(_Line, kw_only=True):
    query: Query


class AskedHeadline(_Line, kw_only=True):
    headline: str


class AskedAddress(msgspec.Struct):
    address: str


@on_settings
async def resolve(
    at: Invocation,
    brand: Annotated[
        str | None, Parameter(allow_leading_hyphen=True, help="Brand; - reads JSON lines.")
    ] = None,
    /,
    *,
    domain: Annotated[str | None, Parameter(help="Web site, alone or with the brand.")] = None,
    offline: Annotated[
        bool, Parameter(help="Ask only the bundled directory and imported brands.")
    ] = False,
) -> AsyncIterator[Output]:
    """Find the brand that is meant, its web site and its profiles.

    Input lines: {"id": 1, "query": {"brand": "Acme", "domain": "acme.example"}}; one of the
    two is enough. The status is matched, no_match or ambiguous.

    A bad line is reported on standard error with its number, the others are still read,
    and the exit code is 1 at the end.

    Example: `cs resolve Nike --offline`, or `cs resolve - --json < brands.jsonl`
    """
    if brand is None and domain is None:
        stop("name a brand, a --domain or both, or read JSON lines with -", 2)

    def read(line: bytes) -> AskedBrand:
        asked = msgspec.json.decode(line, type=AskedBrand)
        return _asked(asked.query.brand, asked.query.domain, asked.id)

    form = '{"id": 1, "query": {"brand": "Acme"}}'
    items = items_of(brand, lambda: _asked(brand, domain, "1"), read, form)
    sources = _on_this_machine(at) if offline else (await _plugins(at)).brand_sources
    for asked in items:
        if isinstance(asked, Output):
            yield asked
            continue
        resolution = await resolve_brand(sources, asked.query)
        found = resolution.choice
        facts = {name: getattr(found.facts, of, None) for name, of in _FACTS.items()}
        row = {"id": asked.id, "status": found.status, **facts}
        text = " ".join(filter(None, (found.status, *facts.values())))
        more = {"sources": resolution.sources, "score": round(found.score, 3)}
        yield Output([{**row, **more}], [text])


def _asked(brand: str | None, domain: str | None, id_: str | int | None) -> AskedBrand:
    """Return what is looked for; ValueError if no search takes it."""
    query = query_of(brand, domain)
    if query is None:
        raise ValueError("send a brand, a domain or both")
    return AskedBrand(query=query, id=id_)


def _on_this_machine(at: Invocation) -> list[BrandSource]:
    """Return the brand sources that need no network: imported brands, if there are any, too."""
    file = Path(str(of_source(at.settings(), "imported")["file"]))
    return [bundled(), imported(file)] if file.exists() else [bundled()]


@on_settings
async def classify(
    at: Invocation,
    headline: Annotated[
        str, Parameter(allow_leading_hyphen=True, help="A headline; - reads JSON lines.")
    ],
    /,
    *,
    opinion: Annotated[
        bool, Parameter(help="Ask your own language model, too; it may charge.")
    ] = False,
) -> AsyncIterator[Output]:
    """Read a headline: role family, level, whether it is one we look for, title, employer.

    Input lines: {"id": 1, "headline": "Head of Social at Acme"}. Bad lines as in
    `cs resolve`.

    --opinion shows the opinion of the model of opinion_url next to the rules, whether it
    would count in a search, and the cost of the call; each line is a call of its own. Names
    stay in the text that is sent, because the lines do not mark them.

    Examples: `cs classify "Head of Social at Acme" --json`,
    `cs classify "Zorbification Manager at Acme" --opinion --config cs.toml`
    """
    form = '{"id": 1, "headline": "Head of Social at Acme"}'
    decode = msgspec.json.Decoder(AskedHeadline).decode
    items = items_of(headline, lambda: AskedHeadline(headline=headline, id="1"), decode, form)
    model = (await _plugins(at)).second_opinion if opinion else None
    if opinion and model is None:
        stop("no language model is set up: set opinion_url and opinion_model")
    for asked in items:
        if isinstance(asked, Output):
            yield asked
        elif model is not None:
            yield await _with_opinion(model, asked)
        else:
            role = role_of(asked.headline)
            yield Output([{"id": asked.id, **msgspec.to_builtins(role)}], [_in_words(role)])


def _in_words(role: JobRole) -> str:
    kept = "eligible" if role.eligible else "not eligible"
    return f"{role.family}, {role.level}, {kept}: {role.title or '-'} at {role.company or '-'}"


async def _with_opinion(model: LanguageModel, asked: AskedHeadline) -> Output:
    """Return the reading of a headline by *model* and by the rules."""
    role = role_of(asked.headline)
    doubted = doubts(asked.headline, role)
    sent = UnsureHeadline(
        person="p1",
        text=nameless(asked.headline, Person(person="p1", full_name="")),
        doubts=tuple(sorted(doubted)),
    )
    with metered() as meter, asking(model.name):
        opinions = await model.of([sent], timeout_s=OPINION_TIMEOUT_S)
    usd = sum(cost.micros for cost in meter.costs()) / MICROS
    given, problem = opinions.found.get(sent.person), opinions.problems.get(sent.person)
    why = None if problem is None else problem.why
    read = role if given is None else settled(role, doubted, given, asked.headline)
    row = {
        "id": asked.id,
        **msgspec.to_builtins(role),
        "doubts": sent.doubts,
        "sent": sent.text,
        "opinion": given,
        "why": why,
        "counts": read != role,
        "read": read,
        "usd": round(usd, 6),
    }
    opinion = f"{given.family}, {given.level}" if given else f"no opinion: {why}"
    counts = "counts" if read != role else "does not count"
    text = [
        f"rules: {_in_words(role)}",
        f"unsure of: {', '.join(sent.doubts) or 'nothing'}",
        f"model: {opinion}",
        f"read as: {_in_words(read)} ({counts}; ${usd:.4f})",
    ]
    return Output([row], text)


@on_settings
async def verify(
    at: Invocation,
    address: Annotated[
        str,
        Parameter(
            allow_leading_hyphen=True, help="An address; - reads one a line, or JSON lines."
        ),
    ],
    /,
) -> AsyncIterator[Output]:
    """Check whether mailboxes exist, by talking to their mail servers; nothing is sent.

    Input lines: jo@acme.example, or {"address": "jo@acme.example"}. Bad lines as in
    `cs resolve`.

    Verdicts: deliverable, undeliverable, catch_all, mailbox_full, unknown.
    Settings: dns, smtp_port, smtp_helo, smtp_mail_from, allow_networks.

    Example: `cs verify jo@acme.example --json`
    """
    form = 'jo@acme.example or {"address": "jo@acme.example"}'
    items = items_of(address, address.strip, _read_address, form)
    verifiers = (await _plugins(at)).verifiers
    if not verifiers:
        stop("no verifier is configured; set smtp_helo, or name one in verifiers")
    # Each domain is opened, and probed, once.
    opened: dict[str, list[DomainCheck]] = {}
    async with AsyncExitStack() as stack:
        for asked in items:
            if isinstance(asked, Output):
                yield asked
                continue
            domain = asked.rpartition("@")[2].lower()
            if domain not in opened:
                if len(opened) >= OPEN_DOMAINS:
                    await stack.aclose()
                    opened.clear()
                checks = (each.open(domain, DomainFacts()) for each in verifiers)
                opened[domain] = [await stack.enter_async_context(each) for each in checks]
            evidence = await ask(opened[domain], asked)
            last = evidence[-1]
            row = {"address": asked, "verdict": last.verdict, "reason": last.reason}
            text = "  ".join((asked, last.verdict, last.reason, last.mx or ""))
            yield Output([{**row, "evidence": evidence}], [text])


def _read_address(line: bytes) -> str:
    if line.lstrip().startswith(b"{"):
        return msgspec.json.decode(line, type=AskedAddress).address.strip()
    return line.decode().strip()


async def _plugins(at: Invocation, **given: Any) -> StagePlugins:
    return await at.opened(open_counted_plugins(at.settings(**given)))


def items_of(
    word: str | None, one: Callable[[], T], read: Callable[[bytes], T], form: str
) -> Iterator[T | Output]:
    """Return the items of a command: the one on its command line, or those of its input.

    Args:
        word: The argument; ``-`` reads standard input, an item a line.
        one: Makes the item of *word*.
        read: Makes an item of a line; ValueError or RecursionError says what is wrong with it.
        form: How a line is written.

    Returns:
        In the place of a bad line the `Output` that reports it, whose exit code is 1.
    """
    if word == "-":
        return _read_lines(read, form)
    if word is not None and word.startswith("-") and " " not in word:
        stop(f"there is no option {word}; --help shows what there is", 2)
    return iter([one()])


def _read_lines(read: Callable[[bytes], T], form: str) -> Iterator[T | Output]:
    if sys.stdin is None:
        stop("standard input is closed")
    # A read that waits for input is not cancelled; Ctrl-C ends us as it ends cat.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    lines = iter(partial(sys.stdin.buffer.readline, LINE_BYTES), b"")
    for n, line in enumerate(lines, 1):
        if len(line) == LINE_BYTES:
            stop(f"line {n}: it is longer than {LINE_BYTES // 1024} KiB")
        if not line.strip():
            continue
        try:
            yield read(line)
        except (ValueError, RecursionError) as error:
            why = f"line {n}: {error}; a line is {form}"
            warn(why)
            yield Output([{"id": _id_in(line), "error": why}], code=1)


def _id_in(line: bytes) -> str | int | None:
    with suppress(ValueError, RecursionError):
        return msgspec.json.decode(line, type=_Line).id
    return None


sources = App(name="sources", help="Try the sources of brands and people.")
verifiers = App(name="verifiers", help="Try the verifiers of mailboxes.")
people_source = App(name="people-source", help="One people source by itself.")


@sources.command(name="check")
@on_data
def check_every_source(at: Invocation) -> AsyncIterator[Output]:
    """Ask every source once, as cheaply as it can be asked, and say what works.

    A table: whether each works or why not, the price of a call, the amounts spent of today's
    and this month's caps, and what the service says is left. Calls count, also against the
    caps; most cost nothing, one question of a search engine at most. A source without a key
    is shown as not-configured, and one that cannot be asked cheaply as not-checked.

    With --json one line for each: name, kind, ended (works, not-configured, not-checked, or
    the problem), why, left, usd (of this check), usd_per_call, usd_per_day, usd_per_month,
    usd_today, usd_this_month.

    Example: `cs sources check --config cs.toml`, or `cs sources check --json`
    """
    return _checked(check_sources(at.settings()))


@verifiers.command(name="check")
@on_data
def check_every_verifier(at: Invocation) -> AsyncIterator[Output]:
    """Ask every verification service once, about an address for trials, and say what works.

    The table and the lines of JSON are those of `cs sources check`. Each check costs one
    call; ZeroBounce's address for trials is free. A service without a key is shown as
    not-configured; smtp asks no service and is shown as not-checked.

    Example: `cs verifiers check --config cs.toml`, or `cs verifiers check --json`
    """
    return _checked(check_verifiers(at.settings()))


async def _checked(checks: AsyncIterator[CheckedPlugin]) -> AsyncIterator[Output]:
    """Yield a row as each check ends, then the table of all."""
    every = []
    async for each in checks:
        named = {"name": each.name, "kind": each.kind}
        yield Output([named | msgspec.to_builtins(each.found)])
        every.append(each)
    columns = ("Name", "State", "Price", "Today", "This month", "Note")
    table = Table(columns, [_cells(each) for each in every], ["Today", "This month", "Note"])
    cost = sum(each.found.usd for each in every)
    works = sum(each.found.ended == WORKS for each in every)
    failed = [each.name for each in every if each.found.ended not in NO_FAULT]
    said = f"{works} of {len(every)} work; this check cost ${cost:.3f} at most"
    problem = f"failed: {', '.join(failed)}" if failed else None
    yield Output(text=[table, said], problem=problem)


def _cells(row: CheckedPlugin) -> list[str]:
    found = row.found
    return [
        row.name,
        found.ended,
        "" if found.usd_per_call is None else f"${found.usd_per_call:g}",
        _of(found.usd_today, found.usd_per_day),
        _of(found.usd_this_month, found.usd_per_month),
        found.why or (f"{found.left} left" if found.left else ""),
    ]


def _of(spent: float | None, cap: float | None) -> str:
    return "" if spent is None or cap is None else f"${spent:.2f} of ${cap:g}"


@people_source.command(name="try")
@on_settings
async def try_source(
    at: Invocation,
    name: Annotated[str, Parameter(help="The source, as settings name it.")],
    brand: Annotated[str, Parameter(allow_leading_hyphen=True, help="The brand.")],
    /,
    *,
    domain: Annotated[str | None, Parameter(help="The brand's web site.")] = None,
    limit: Annotated[int, number(1, 1_000, "People at most.")] = 25,
    ask_sources: Annotated[
        bool, Parameter(help="Find the brand with all brand sources in use.")
    ] = False,
) -> Output:
    """Ask one people source who works for a brand, and show how its run ended.

    It is configured as in the service, with its settings, rate and caps; no other source is
    asked. Facts about the brand come from the bundled directory; a brand that it does not
    know is asked for by its name and --domain alone. Nothing is stored, except that a call
    was made.

    Exit code 1 if the source could not answer: the sentence says why.

    Example: `cs people-source try searxng Nike --limit 5`
    """
    try:
        query = Query(clean_brand(brand), canonical_domain(domain) if domain else None)
    except Unacceptable as error:
        stop(str(error), 2)
    others: dict[str, Any] = {} if ask_sources else {"brand_sources": ("directory",)}
    others |= {"people_source_order": (), "verifier_order": ()}
    tools = await _plugins(at, people_sources=(name,), verifiers=(), stages=(), **others)
    resolution = await resolve_brand(tools.brand_sources, query)
    facts = resolution.choice.facts or BrandFacts(
        name=brand, domain=query.domain, mail_domains=(query.domain,) if query.domain else ()
    )
    began = perf_counter()
    answer = await tools.people_sources[0].find(facts, limit=limit)
    took_s = perf_counter() - began
    people, rows = [], []
    for person in answer.people:
        role = role_of(person.headline or "")
        people.append({**msgspec.to_builtins(person), "role": role})
        read = f"{role.family}, {role.level}" if role.eligible else "not looked for"
        url = person.linkedin_url or "-"
        rows.append((person.full_name, person.headline or "-", read, url))
    where = f" ({facts.domain})" if facts.domain else ""
    count = f"{len(people)} {'person' if len(people) == 1 else 'people'}"
    said = f"{name}, asked for {facts.name}{where}: {answer.ended}, {count} in {took_s:.2f} s"
    table = Table(("Name", "Headline", "Read as", "Profile"), rows, ["Headline", "Profile"])
    again = "" if answer.retry_in_s is None else f"; again in {answer.retry_in_s:.0f} s"
    why = f"{name}: {answer.ended}: {answer.why or 'it does not say why'}{again}"
    found = {**msgspec.to_builtins(answer), "people": people}
    return Output(
        [{"brand": facts, "took_s": round(took_s, 3), **found}],
        [said, *([table] if rows else [])],
        problem=None if answer.ended in ANSWERED else why,
    )
