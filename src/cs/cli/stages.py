"""``cs resolve``, ``cs classify``, ``cs verify``: one stage by itself, for who tunes it.

Each reads one item as its argument, or JSON lines from standard input with ``-``, and
prints one JSON line an item with ``--json``, in the order of the items.
"""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from typing import Annotated, Self, TypeVar

import msgspec
from cyclopts import Parameter

from cs.cli.options import Config, Json, settings
from cs.cli.output import console, print_json, stop
from cs.domain.contact import Query
from cs.domain.mailbox import DomainFacts, Evidence
from cs.domain.role import classify as role_of
from cs.pipeline.resolving import Asked, Resolving, Row, resolve_line, resolve_offline
from cs.pipeline.verification import ask
from cs.sources.brand.directory import BundledDirectory
from cs.verifiers.port import DomainCheck, Verifier
from cs.wiring import outside

T = TypeVar("T")

#: One line of input.
LINE_BYTES = 64 * 1024
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
    brand: Annotated[str | None, Parameter(help="Brand; - reads JSON lines.")] = None,
    /,
    *,
    domain: Annotated[str | None, Parameter(help="Web site, alone or with the brand.")] = None,
    offline: Annotated[
        bool, Parameter(negative="", help="Ask only the bundled directory.")
    ] = False,
    json: Json = False,
    config: Config = None,
) -> None:
    """Find out which brand is meant and where it is on the web.

    Input lines: {"id": 1, "query": {"brand": "Acme", "domain": "acme.example"}}; one of the
    two is enough. The status is matched, no_match or ambiguous.
    """
    if brand is None and domain is None:
        stop("name a brand, a --domain or both, or read JSON lines with -")
    asked = (
        (Asked(line.id, line.query.brand, line.query.domain) for line in _lines(AskedBrand))
        if brand == "-"
        else iter([Asked("1", brand, domain)])
    )

    def tell(row: Row) -> None:
        if json:
            print_json(row)
        elif row.error:
            console.print(f"{row.status}: {row.error}", markup=False)
        else:
            facts = (row.domain, row.linkedin, row.parent, row.instagram, row.tiktok)
            console.print(row.status, *filter(None, facts), markup=False)

    if offline:
        for row in resolve_offline(asked, [BundledDirectory()]):
            tell(row)
        return

    async def run() -> None:
        async with outside(settings(config)) as tools:
            resolving = Resolving(tools.brand_sources)
            for line in asked:
                tell(await resolve_line(line, resolving))

    asyncio.run(run())


def classify(
    headline: Annotated[str, Parameter(help="A headline; - reads JSON lines.")],
    /,
    *,
    json: Json = False,
) -> None:
    """Read a headline: role family, level, whether it is one we look for, title, employer.

    Input lines: {"id": 1, "headline": "Head of Social at Acme"}.
    """
    asked = _lines(AskedHeadline) if headline == "-" else iter([AskedHeadline(headline, "1")])
    for line in asked:
        role = role_of(line.headline)
        if json:
            print_json({"id": line.id, **msgspec.to_builtins(role)})
        else:
            kept = "eligible" if role.eligible else "not eligible"
            console.print(
                f"{role.family}, {role.level}, {kept}: {role.title or '-'} "
                f"at {role.company or '-'}",
                markup=False,
            )


def verify(
    address: Annotated[str, Parameter(help="An address; - reads one a line, or JSON lines.")],
    /,
    *,
    json: Json = False,
    config: Config = None,
) -> None:
    """Find out whether mailboxes exist, by talking to their mail servers; nothing is sent.

    Verdicts: deliverable, undeliverable, catch_all, mailbox_full, unknown.
    Settings: dns, smtp_port, smtp_helo, smtp_mail_from, allow_networks.
    """
    asked = _addresses() if address == "-" else iter([address])

    async def run() -> None:
        async with outside(settings(config)) as tools, Domains(tools.verifiers) as domains:
            for each in asked:
                evidence = await domains.check(each.strip())
                last = evidence[-1]
                if json:
                    print_json(
                        {
                            "address": each.strip(),
                            "verdict": last.verdict,
                            "reason": last.reason,
                            "evidence": evidence,
                        }
                    )
                else:
                    console.print(
                        f"{each.strip()}  {last.verdict}  {last.reason}  {last.mx or ''}",
                        markup=False,
                    )

    asyncio.run(run())


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


def _addresses() -> Iterator[str]:
    for line in _raw_lines():
        if line.lstrip().startswith(b"{"):
            yield _decoded(line, AskedAddress).address
        else:
            yield line.decode(errors="replace").strip()


def _lines(shape: type[T]) -> Iterator[T]:
    for line in _raw_lines():
        yield _decoded(line, shape)


def _raw_lines() -> Iterator[bytes]:
    for number, line in enumerate(sys.stdin.buffer, 1):
        if len(line) > LINE_BYTES:
            stop(f"line {number} is longer than {LINE_BYTES // 1024} KiB")
        if line.strip():
            yield line


def _decoded(line: bytes, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(line, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        stop(f"this line is not what is asked for ({error}): {line[:80].decode('latin-1')}")
