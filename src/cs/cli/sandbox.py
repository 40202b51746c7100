"""``cs sandbox``: made-up worlds, listed, checked, run and proved."""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import httpx
import msgspec
from cyclopts import App, Parameter

from cs.admin.sandbox_clock import SandboxClock
from cs.assembly.played_providers import providers_url
from cs.assembly.postgres_pools import open_stages_pool
from cs.assembly.sandbox_plugins import plugins_in_sandbox
from cs.assembly.sandbox_world import run_sandbox
from cs.assembly.shared_time import keep_time, open_shared_time
from cs.cli.command import Invocation, Output, command, printing
from cs.cli.output import Table, errors, styled
from cs.cli.sandbox_service import SandboxService, client_of, sandbox_service, search_to_end
from cs.http_server.serving import on_signal
from cs.operations.operator import Operator
from cs.postgres.clock import DatabaseTime
from cs.runtime import logs
from cs.runtime.clock import Clock
from cs.runtime.private_files import temporary_folder
from cs.sandbox.mail_behaviour import Behaviour, Greylisting, Silent
from cs.sandbox.providers.adapters import ADAPTERS
from cs.sandbox.shapes import World
from cs.sandbox.world import WorldSearch, listing, load
from cs.settings import Settings

app = App(
    name="sandbox",
    help="Worlds for `cs serve --sandbox`: list, check and run one; prove the service on one.",
)

#: Searches at once in real time: few enough that none is late for its deadline.
AT_ONCE = 16
#: Real time between two looks at whether every call has come in.
LOOK_S = 0.05

WorldFile = Annotated[Path | None, Parameter(help="A world file; the bundled one if left out.")]


@app.command(name="list")
@printing
def list_world(_: Invocation, world: WorldFile = None, /) -> Output:
    """List the brands of a world, and how a search for each is meant to end.

    Example: `cs sandbox list --json`, one line a search.
    """
    found = listing(load(world))
    names = ("brand", "domain", "outcome", "verified", "tags")
    cells = [
        (r.brand or "", r.domain or "", r.outcome, str(r.verified), " ".join(r.tags))
        for r in found
    ]
    return Output(
        [{name: getattr(row, name) for name in names} for row in found],
        [Table([name.capitalize() for name in names], cells, ["Brand", "Tags"])],
    )


@app.command
@printing
def check(
    _: Invocation, world: Annotated[Path, Parameter(help="The world file.")], /
) -> Output:
    """Check a world file; say where it is wrong and what is allowed.

    Example: `cs sandbox check my-world.json`
    """
    found = len(listing(load(world)))
    said = f"{world} is good: {found} things to search"
    return Output([{"world": str(world), "searches": found}], [said])


@app.command
@command("config")
async def run(
    at: Invocation,
    world: WorldFile = None,
    /,
    *,
    write: Annotated[Path, Parameter(help="File for the settings of its roles (TOML).")],
    providers: Annotated[
        bool, Parameter(negative="", help="Play providers with a key, too.")
    ] = False,
) -> Output:
    """Run a world by itself, for a service that runs as several processes.

    The roles of that service are started with `--sandbox --config` and the file that this
    writes. Needs the setting stages_postgres: the sandbox's clock is there. With --providers
    that file also has the tables of the sources and verifiers with a key.

    Example: `cs sandbox run --write world.toml`
    """
    chosen, made_up = at.settings(), load(world)
    starting = asyncio.current_task()
    assert starting is not None, "runs in a task"
    at.entered(on_signal(starting.cancel))
    pool = await at.opened(open_stages_pool(chosen, "sandbox", "sandbox"))
    time = DatabaseTime(pool)
    await time.ask()
    shared = await open_shared_time(time, "sandbox", pool)
    assert isinstance(shared.clock, SandboxClock)
    await at.opened(keep_time(shared))
    folder = at.entered(temporary_folder(write.absolute().parent, "sandbox-"))
    pointed = await at.opened(
        run_sandbox(chosen, made_up, folder, shared.clock, providers=providers)
    )
    tables = write_settings(write, chosen, pointed, providers=providers)
    others = {name.rpartition(".")[0] for name in plugins_in_sandbox(chosen.plugins).shown()}
    if others := others - tables:
        names = ", ".join(sorted(others))
        errors.print(f"not in {write}, give them to the roles as variables: {names}")
    if providers:
        errors.print(f"the bill of the played providers: {providers_url(pointed)}/bill")
    told = asyncio.Event()
    with on_signal(told.set):
        errors.print(f"the world runs; its roles take --config {write} --sandbox")
        await told.wait()
    return Output()


def write_settings(
    file: Path, chosen: Settings, pointed: Settings, *, providers: bool
) -> set[str]:
    """Write how *pointed* differs from *chosen* as TOML, all or nothing.

    With *providers* also the tables of what asks the played providers; return their names.
    """
    before, after = (
        msgspec.to_builtins(msgspec.structs.asdict(each), enc_hook=str)
        for each in (chosen, pointed)
    )
    changed = {n: v for n, v in after.items() if v != before[n] and n != "plugins"}
    tables = {
        f"{section}.{name}": getattr(pointed.plugins, section)[name]
        for section, names in (ADAPTERS if providers else {}).items()
        for name in names
    }
    lines = ["# Written by `cs sandbox run`: where this world is."]
    for name, table in {"": changed, **tables}.items():
        lines += [f"\n[{name}]"] if name else []
        lines += [f"{field} = {json.dumps(value)}" for field, value in table.items()]
    new = file.with_name(file.name + ".new")
    new.write_text("\n".join(lines) + "\n")
    new.replace(file)  # roles may be waiting for it
    return set(tables)


class SearchProof(msgspec.Struct, frozen=True):
    """One search: addresses are of invented people."""

    asked: str
    intended: str
    ended: str
    expected: tuple[str, ...]
    maybe: tuple[str, ...]  # right to find and right to leave out
    verified: tuple[str, ...]
    seconds: float  # of the service's clock
    charged: bool

    @property
    def differs(self) -> tuple[str, ...]:
        """What is not as intended."""
        found, expected = set(self.verified), set(self.expected)
        wrong = {
            "outcome": self.ended != self.intended,
            "people": not expected <= found <= expected | set(self.maybe),
            "charge": self.charged != (self.intended == "done"),
        }
        return tuple(name for name, differs in wrong.items() if differs)


async def prove_world(
    world: World, tell: Callable[[int, int, SearchProof], None], *, quick: bool = False
) -> list[SearchProof]:
    """Search everything in *world*, each with a key of its own; *tell* is called for each.

    With *quick* the clock is moved on whenever every search waits for it: for a retry, a
    hold's end, a slow answer.  Brands whose end rests on a server that says nothing are left
    out then, because time-outs go by real time.
    """
    silent = asking_the_silent(world)
    shown = [row for row in listing(world) if not (quick and row.domain in silent)]
    shown.sort(key=lambda row: row.domain not in silent)  # the longest first
    rows = [(row, way) for row in shown for way in row.asked_by]
    places = asyncio.Semaphore(len(rows) if quick else AT_ONCE)
    ended: list[SearchProof] = []

    async with sandbox_service(world) as sandbox, client_of(sandbox.base_url) as client:

        async def one(row: WorldSearch, way: str) -> None:
            async with places:
                proof = await prove_search(client, sandbox.operator, sandbox.clock, row, way)
            ended.append(proof)
            tell(len(ended), len(rows), proof)

        async with asyncio.TaskGroup() as tasks:
            searches = [tasks.create_task(one(row, way)) for row, way in rows]
            if quick:
                moving = tasks.create_task(move_clock(sandbox, searches))
                await asyncio.wait(searches)
                moving.cancel()
    return ended


def asking_the_silent(world: World) -> frozenset[str]:
    """Return the domains of the brands whose mail, or name server for it, may say nothing."""

    def is_silent(behaviour: Behaviour | None) -> bool:
        is_silent_later = isinstance(behaviour, Greylisting) and behaviour.then == "silent"
        return isinstance(behaviour, Silent) or is_silent_later

    mail = {
        mail.domain
        for mail in world.mail
        if mail.dns == "silent"
        or is_silent(mail.behaviour)
        or any(is_silent(host.behaviour) for host in mail.hosts)
    }
    return frozenset(b.domain for b in world.brands if (b.mail_domain or b.domain) in mail)


async def move_clock(sandbox: SandboxService, searches: Sequence[asyncio.Task[Any]]) -> None:
    """Move the clock from one due time to the next once every call of *searches* is in."""
    while sandbox.service.api.held + sum(each.done() for each in searches) < len(searches):  # noqa: ASYNC110  calls come in elsewhere
        await asyncio.sleep(LOOK_S)
    while True:
        await sandbox.clock_advancer.next()


async def prove_search(
    client: httpx.AsyncClient, operator: Operator, clock: Clock, row: WorldSearch, way: str
) -> SearchProof:
    """Search for *row* by *way* (brand, domain or both), with a key of its own, to its end.

    *clock* is the service's.

    Raises:
        httpx.HTTPError: The service refuses, or does not answer.
    """
    brand = row.brand if way in {"brand", "both"} else None
    domain = row.domain if way in {"domain", "both"} else None
    key = (await operator.create_key("proof", 1)).key
    began = clock.monotonic()
    record = await search_to_end(client, key, brand, domain)
    emails = (contact["email"] for contact in record["contacts"])
    return SearchProof(
        asked=" + ".join(filter(None, (brand, domain))),
        intended=row.outcome,
        ended="done" if record["status"] == "done" else record["reason"],
        expected=tuple(sorted(person.address for person in row.people)),
        maybe=tuple(sorted(person.address for person in row.maybe)),
        verified=tuple(sorted(email for email in emails if email)),
        seconds=round(clock.monotonic() - began, 2),
        charged=record["charged"],
    )


@app.command
@printing
async def prove(
    _: Invocation,
    world: WorldFile = None,
    /,
    *,
    quick: Annotated[
        bool, Parameter(negative="", help="Move the clock; leave out silent mail servers.")
    ] = False,
) -> Output:
    """Search everything in a world over HTTP and compare with the intended results.

    Takes about two minutes with the bundled world: one search is meant to time out.
    With --quick, seconds: the clock is moved past every wait. Brands whose mail servers say
    nothing are left out then, since time-outs go by real time.
    Exit code 1 if anything ended otherwise.

    Example: `cs sandbox prove my-world.json --json`, one line a search.
    """
    logs.configure("error", "console")
    proved = await prove_world(load(world), _tell, quick=quick)
    wrong = sum(bool(row.differs) for row in proved)
    errors.print(f"{len(proved) - wrong} of {len(proved)} ended as the world intends")
    cells = [
        (
            row.asked,
            row.intended,
            row.ended,
            f"{len(row.verified)} of {len(row.expected)}",
            f"{row.seconds:.1f}",
            styled("[red]✗[/] {}", " ".join(row.differs))
            if row.differs
            else styled("[green]✓[/]"),
        )
        for row in proved
    ]
    columns = ("Asked", "Intended", "Ended", "Verified", "Seconds", "")
    return Output(proved, [Table(columns, cells, ["Asked"])], code=bool(wrong))


def _tell(done: int, of: int, row: SearchProof) -> None:
    line = f"{done}/{of} {row.asked}: {row.ended} in {row.seconds:.1f} s"
    errors.print(styled("[dim]{}[/]", line))
