"""``cs resolve``, ``cs classify``, ``cs verify``: one stage by itself, to tune it.

Each reads one item as its argument, or JSON lines from standard input with ``-``, and
prints one JSON line an item with ``--json``, in the order of the items.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from itertools import islice
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from cs.assembly.plugins import StagePlugins, open_plugins
from cs.assembly.service_budgets import open_budgets
from cs.assembly.settings_of_plugins import of_source
from cs.cli.command import Invocation, Output, on_settings
from cs.cli.input_lines import Items, json_line
from cs.cli.output import stop
from cs.domain.contact import Person, Query
from cs.domain.headline.doubt import doubts
from cs.domain.headline.role import JobRole
from cs.domain.headline.role import classify as role_of
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.opinions import nameless, settled
from cs.opinions.language_model import AT_ONCE, LanguageModel, UnsureHeadline
from cs.paid_calls.budgets.port import MICROS
from cs.pipeline.brand_resolver import BrandQuestion, BrandResolver, resolve_line
from cs.pipeline.cost_meter import asking, metered
from cs.pipeline.waterfall import ask
from cs.plugins.sources import BrandSource
from cs.plugins.verifiers import DomainCheck
from cs.sources.brand.directory import BundledDirectory
from cs.sources.brand.imported import ImportedCompanies

#: Mail domains whose checks are open at once.
OPEN_DOMAINS = 50
#: How long the language model has for one call.
OPINION_TIMEOUT_S = 30.0


class AskedBrand(msgspec.Struct):
    query: Query
    id: str | int | None = None


class AskedHeadline(msgspec.Struct):
    headline: str
    id: str | int | None = None


class AskedAddress(msgspec.Struct):
    address: str


@on_settings
async def resolve(
    at: Invocation,
    brand: Annotated[
        str | None,
        Parameter(allow_leading_hyphen=True, help="Brand; - reads JSON lines."),
    ] = None,
    /,
    *,
    domain: Annotated[str | None, Parameter(help="Web site, alone or with the brand.")] = None,
    offline: Annotated[
        bool, Parameter(negative="", help="Ask only the bundled directory and imported brands.")
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
    items = Items(
        brand,
        BrandQuestion("1", brand, domain),
        _read_query,
        form='{"id": 1, "query": {"brand": "Acme"}}',
        json=at.json,
    )
    sources = _on_this_machine(at) if offline else (await _plugins(at)).brand_sources
    resolver = BrandResolver(sources)
    for asked in items:
        row = await resolve_line(asked, resolver)
        if row.error:
            items.refuse(row.error, msgspec.to_builtins(row))
        else:
            facts = (row.status, row.domain, row.linkedin, row.parent, row.instagram)
            yield Output([row], [" ".join(filter(None, (*facts, row.tiktok)))])
    items.end()


def _on_this_machine(at: Invocation) -> Sequence[BrandSource]:
    """Return the brand sources that need no network: imported brands, if there are any, too."""
    file = Path(str(of_source(at.settings(), "imported")["file"]))
    directory = BundledDirectory()
    return [directory, ImportedCompanies(file)] if file.exists() else [directory]


@on_settings
async def classify(
    at: Invocation,
    headline: Annotated[
        str, Parameter(allow_leading_hyphen=True, help="A headline; - reads JSON lines.")
    ],
    /,
    *,
    opinion: Annotated[
        bool, Parameter(negative=(), help="Ask your own language model, too; it may charge.")
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
    items = Items(
        headline,
        AskedHeadline(headline, "1"),
        json_line(AskedHeadline),
        form='{"id": 1, "headline": "Head of Social at Acme"}',
        json=at.json,
    )
    if opinion:
        model = (await _plugins(at)).second_opinion
        if model is None:
            stop("no language model is set up: set opinion_url and opinion_model")
        rest = iter(items)
        while some := list(islice(rest, AT_ONCE)):
            async for judged in _judged(model, some):
                yield judged
    else:
        for asked in items:
            role = role_of(asked.headline)
            yield Output([{"id": asked.id, **msgspec.to_builtins(role)}], [_in_words(role)])
    items.end()


def _in_words(role: JobRole) -> str:
    kept = "eligible" if role.eligible else "not eligible"
    return f"{role.family}, {role.level}, {kept}: {role.title or '-'} at {role.company or '-'}"


async def _judged(
    model: LanguageModel, headlines: list[AskedHeadline]
) -> AsyncIterator[Output]:
    """Yield the reading of each of *headlines* by *model* and by the rules."""
    roles = [role_of(each.headline) for each in headlines]
    unsure = [
        UnsureHeadline(
            person=f"p{n}",
            text=nameless(each.headline, Person(person=f"p{n}", full_name="")),
            doubts=tuple(sorted(doubts(each.headline, role))),
        )
        for n, (each, role) in enumerate(zip(headlines, roles, strict=True), 1)
    ]
    with metered() as meter, asking(model.name):
        opinions = await model.of(unsure, timeout_s=OPINION_TIMEOUT_S)
    # Each has its share of the price of the calls.
    usd = sum(cost.micros for cost in meter.costs()) / MICROS / len(headlines)
    for asked, role, sent in zip(headlines, roles, unsure, strict=True):
        given, problem = opinions.found.get(sent.person), opinions.problems.get(sent.person)
        why = None if problem is None else problem.why
        doubted = doubts(asked.headline, role)
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
        said = f"{given.family}, {given.level}" if given else f"no opinion: {why}"
        counts = "counts" if read != role else "does not count"
        text = [
            f"rules: {_in_words(role)}",
            f"unsure of: {', '.join(sent.doubts) or 'nothing'}",
            f"model: {said}",
            f"read as: {_in_words(read)} ({counts}; ${usd:.4f})",
        ]
        yield Output([row], text)


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
    items = Items(
        address,
        address.strip(),
        _read_address,
        form='jo@acme.example or {"address": "jo@acme.example"}',
        json=at.json,
    )
    verifiers = (await _plugins(at)).verifiers
    if not verifiers:
        stop("no verifier is configured; set smtp_helo, or name one in verifiers")
    # Each domain is opened, and probed, once.
    opened: dict[str, list[DomainCheck]] = {}
    async with AsyncExitStack() as stack:
        for asked in items:
            domain = asked.rpartition("@")[2].lower()
            if domain not in opened:
                if len(opened) >= OPEN_DOMAINS:
                    await stack.aclose()
                    opened.clear()
                opened[domain] = [
                    await stack.enter_async_context(each.open(domain, DomainFacts()))
                    for each in verifiers
                ]
            evidence = await ask(opened[domain], asked)
            last = evidence[-1]
            row = {"address": asked, "verdict": last.verdict, "reason": last.reason}
            text = "  ".join((asked, last.verdict, last.reason, last.mx or ""))
            yield Output([{**row, "evidence": evidence}], [text])
    items.end()


async def _plugins(at: Invocation) -> StagePlugins:
    """Open the plug-ins of the settings; their calls are counted with those of the service."""
    chosen = at.settings()
    budgets = await at.opened(open_budgets(chosen))
    return await at.opened(open_plugins(chosen, budgets=budgets))


def _read_query(line: bytes) -> BrandQuestion:
    asked = msgspec.json.decode(line, type=AskedBrand)
    return BrandQuestion(asked.id, asked.query.brand, asked.query.domain)


def _read_address(line: bytes) -> str:
    if line.lstrip().startswith(b"{"):
        return msgspec.json.decode(line, type=AskedAddress).address.strip()
    return line.decode().strip()
