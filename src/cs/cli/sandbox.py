"""``cs sandbox``: what can be searched in a world, and whether the service finds it."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter
from rich.text import Text

from cs.cli.options import Config, Json
from cs.cli.output import console, errors, print_json, print_table, styled
from cs.cli.proof import SearchProof, prove_world
from cs.cli.settings_in_force import settings
from cs.cli.world_process import run_world
from cs.runtime import event_loop, logs
from cs.sandbox.world import WorldSearch, listing, load

app = App(
    name="sandbox",
    help="Worlds for `cs serve --sandbox`: list one, check one, prove the service on one.",
)

World = Annotated[Path | None, Parameter(help="A world file; the bundled one if left out.")]


@app.command(name="list")
def list_world(world: World = None, /, *, json: Json = False) -> None:
    """List what can be searched in a world and how each search is meant to end.

    Example: `cs sandbox list --json`, one line a search.
    """
    rows = listing(load(world))
    if json:
        for row in rows:
            print_json(_shown(row))
        return
    print_table(
        ("Brand", "Domain", "Outcome", "Verified", "Tags"),
        [
            (r.brand or "", r.domain or "", r.outcome, str(r.verified), " ".join(r.tags))
            for r in rows
        ],
        folds=["Brand", "Tags"],
    )


@app.command
def check(world: Annotated[Path, Parameter(help="The world file.")], /) -> None:
    """Check a world file; say where it is wrong and what is allowed.

    Example: `cs sandbox check my-world.json`
    """
    console.print(f"{world} is good: {len(listing(load(world)))} things to search")


@app.command
def run(
    world: World = None,
    /,
    *,
    write: Annotated[Path, Parameter(help="File for the settings of its roles (TOML).")],
    providers: Annotated[
        bool, Parameter(negative="", help="Play providers with a key, too.")
    ] = False,
    config: Config = None,
) -> None:
    """Run a world by itself, for a service that runs as several processes.

    The roles of that service are started with `--sandbox --config` and the file that this
    writes. Needs the setting stages_postgres: the sandbox's clock is there. With --providers
    that file also has the tables of the sources and verifiers with a key.

    Example: `cs sandbox run --write world.toml`
    """
    chosen, certificates = settings(config), write.absolute().parent
    event_loop.run(run_world(chosen, load(world), write, certificates, providers=providers))


@app.command
def prove(
    world: World = None,
    /,
    *,
    quick: Annotated[
        bool, Parameter(negative="", help="Move the clock; leave out what goes silent.")
    ] = False,
    json: Json = False,
) -> None:
    """Search everything in a world over HTTP and compare with what it intends.

    Takes about two minutes with the bundled world: one search is meant to time out.
    With --quick, seconds: the clock is moved past every wait. Brands whose mail servers say
    nothing are left out then, since time-outs go by real time.
    Exit code 1 if anything ended otherwise.

    Example: `cs sandbox prove my-world.json --json`, one line a search.
    """
    logs.configure("error", "console")
    proved = asyncio.run(prove_world(load(world), _tell, quick=quick))
    if json:
        for row in proved:
            print_json(row)
    else:
        print_table(
            ("Asked", "Intended", "Ended", "Verified", "Seconds", ""),
            [_cells(row) for row in proved],
            folds=["Asked"],
        )
    wrong = sum(not row.right for row in proved)
    errors.print(f"{len(proved) - wrong} of {len(proved)} ended as the world intends")
    if wrong:
        raise SystemExit(1)


def _tell(done: int, of: int, row: SearchProof) -> None:
    line = f"{done}/{of} {row.asked}: {row.ended} in {row.seconds:.1f} s"
    errors.print(styled("[dim]{}[/]", line))


def _shown(row: WorldSearch) -> dict[str, Any]:
    return {
        "brand": row.brand,
        "domain": row.domain,
        "outcome": row.outcome,
        "verified": row.verified,
        "tags": row.tags,
    }


def _cells(row: SearchProof) -> tuple[str | Text, ...]:
    return (
        row.asked,
        row.intended,
        row.ended,
        f"{len(row.verified)} of {len(row.expected)}",
        f"{row.seconds:.1f}",
        styled("[green]✓[/]") if row.right else styled("[red]✗[/] {}", " ".join(row.differs)),
    )
