"""``cs resolve``, ``cs classify``, ``cs verify``: one stage by itself, for who tunes it.

Each reads one item as its argument, or JSON lines from standard input with ``-``, and
prints one JSON line an item with ``--json``, in the order of the items.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated, Self

import msgspec
from cyclopts import Parameter

from cs.assembly.settings_of_plugins import of_source
from cs.cli.input_lines import Items, json_line
from cs.cli.options import Config, Json
from cs.cli.output import console, print_json, stop
from cs.cli.plugins_in_force import plugins_in_force
from cs.cli.settings_in_force import settings
from cs.domain.contact import Query
from cs.domain.headline.role import JobRole
from cs.domain.headline.role import classify as role_of
from cs.domain.mail.mailbox import DomainFacts, Evidence
from cs.pipeline.brand_resolver import (
    BrandQuestion,
    BrandResolver,
    ResolutionRow,
    resolve_line,
    resolve_offline,
)
from cs.pipeline.waterfall import ask
from cs.plugins.sources import BrandSource
from cs.plugins.verifiers import DomainCheck, Verifier
from cs.sources.brand.directory import BundledDirectory
from cs.sources.brand.imported import ImportedCompanies

#: Mail domains open at once.
OPEN_DOMAINS = 50


class AskedBrand(msgspec.Struct):
    query: Query
    id: str | int | None = None


class AskedHeadline(msgspec.Struct):
    headline: str
    id: str | int | None = None


class AskedAddress(msgspec.Struct):
    address: str


def resolve(
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
    json: Json = False,
    config: Config = None,
) -> None:
    """Find out which brand is meant and where it is on the web.

    Input lines: {"id": 1, "query": {"brand": "Acme", "domain": "acme.example"}}; one of the
    two is enough. The status is matched, no_match or ambiguous.

    A bad line is told on standard error with its number, the others are read all the same,
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
        json=json,
    )

    def tell(row: ResolutionRow) -> None:
        if row.error:
            items.refuse(row.error, msgspec.to_builtins(row))
        elif json:
            print_json(row)
        else:
            facts = (row.domain, row.linkedin, row.parent, row.instagram, row.tiktok)
            console.print(row.status, *filter(None, facts))

    async def run() -> None:
        async with plugins_in_force(config) as tools:
            resolving = BrandResolver(tools.brand_sources)
            for asked in items:
                tell(await resolve_line(asked, resolving))

    if offline:
        for row in resolve_offline(items, _on_this_machine(config)):
            tell(row)
    else:
        asyncio.run(run())
    items.end()


def _on_this_machine(config: Path | None) -> list[BrandSource]:
    """Return the brand sources that need no network; imported brands if there are any."""
    file = Path(str(of_source(settings(config), "imported")["file"]))
    directory = BundledDirectory()
    return [directory, ImportedCompanies(file)] if file.exists() else [directory]


def classify(
    headline: Annotated[
        str, Parameter(allow_leading_hyphen=True, help="A headline; - reads JSON lines.")
    ],
    /,
    *,
    opinion: Annotated[
        bool, Parameter(negative=(), help="Ask your own language model, too; it may charge.")
    ] = False,
    json: Json = False,
    config: Config = None,
) -> None:
    """Read a headline: role family, level, whether it is one we look for, title, employer.

    Input lines: {"id": 1, "headline": "Head of Social at Acme"}. Bad lines as in
    `cs resolve`.

    --opinion shows what the model of opinion_url says beside the rules, whether that would
    count in a search, and what the call cost; 20 lines are one call. Names stay in what is
    sent, as nobody says which words are one.

    Examples: `cs classify "Head of Social at Acme" --json`,
    `cs classify "Zorbification Manager at Acme" --opinion --config cs.toml`
    """
    items = Items(
        headline,
        AskedHeadline(headline, "1"),
        json_line(AskedHeadline),
        form='{"id": 1, "headline": "Head of Social at Acme"}',
        json=json,
    )
    if opinion:
        asyncio.run(_ask_model(items, config, json=json))
        items.end()
        return
    for asked in items:
        role = role_of(asked.headline)
        if json:
            print_json({"id": asked.id, **msgspec.to_builtins(role)})
        else:
            console.print(_in_words(role))
    items.end()


def _in_words(role: JobRole) -> str:
    kept = "eligible" if role.eligible else "not eligible"
    return f"{role.family}, {role.level}, {kept}: {role.title or '-'} at {role.company or '-'}"


async def _ask_model(items: Items[AskedHeadline], config: Path | None, *, json: bool) -> None:
    """Print what the operator's model says of *items*; end the command if there is none."""
    # Imported here: it is large, and few ask.
    from cs.cli.classify_opinion import in_calls, judged  # noqa: PLC0415

    async with plugins_in_force(config) as tools:
        model = tools.second_opinion
        if model is None:
            stop("no language model is set up: set opinion_url and opinion_model")
        for some in in_calls(items):
            for row in await judged(model, some):
                if json:
                    found = msgspec.to_builtins(row)
                    print_json({"id": found.pop("id"), **found.pop("role"), **found})
                    continue
                said = row.opinion
                console.print(f"rules: {_in_words(row.role)}")
                console.print(f"unsure of: {', '.join(row.doubts) or 'nothing'}")
                told = f"{said.family}, {said.level}" if said else f"no opinion: {row.why}"
                console.print(f"model: {told}")
                counts = "counts" if row.counts else "does not count"
                console.print(f"read as: {_in_words(row.read)} ({counts}; ${row.usd:.4f})")


def verify(
    address: Annotated[
        str,
        Parameter(
            allow_leading_hyphen=True, help="An address; - reads one a line, or JSON lines."
        ),
    ],
    /,
    *,
    json: Json = False,
    config: Config = None,
) -> None:
    """Find out whether mailboxes exist, by talking to their mail servers; nothing is sent.

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
        json=json,
    )

    async def run() -> None:
        async with plugins_in_force(config) as tools, Domains(tools.verifiers) as domains:
            for asked in items:
                _tell(asked, await domains.check(asked), json=json)

    asyncio.run(run())
    items.end()


def _tell(address: str, evidence: Sequence[Evidence], *, json: bool) -> None:
    last = evidence[-1]
    if json:
        found = {"address": address, "verdict": last.verdict, "reason": last.reason}
        print_json({**found, "evidence": evidence})
    else:
        console.print(address, last.verdict, last.reason, last.mx or "", sep="  ")


def _read_query(line: bytes) -> BrandQuestion:
    asked = msgspec.json.decode(line, type=AskedBrand)
    return BrandQuestion(asked.id, asked.query.brand, asked.query.domain)


def _read_address(line: bytes) -> str:
    if line.lstrip().startswith(b"{"):
        return msgspec.json.decode(line, type=AskedAddress).address.strip()
    return line.decode().strip()


class Domains:
    """The mail domains being checked; each is opened once and probed once."""

    def __init__(self, verifiers: Sequence[Verifier]) -> None:
        if not verifiers:
            stop("no verifier is configured; set smtp_helo, or name one in verifiers")
        self._verifiers = verifiers
        self._stack = AsyncExitStack()
        self._open: dict[str, list[DomainCheck]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def check(self, address: str) -> list[Evidence]:
        """Ask one verifier after the other until one settles *address*."""
        domain = address.rpartition("@")[2].lower()
        if domain not in self._open:
            if len(self._open) >= OPEN_DOMAINS:
                await self._stack.aclose()
                self._open.clear()
            self._open[domain] = [
                await self._stack.enter_async_context(v.open(domain, DomainFacts()))
                for v in self._verifiers
            ]
        return await ask(self._open[domain], address)
