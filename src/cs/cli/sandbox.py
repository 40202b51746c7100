"""``cs sandbox``: made-up worlds, listed, checked, run and proved."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from cs.cli.command import Invocation, Output, printing
from cs.cli.options import Config
from cs.cli.output import Table, errors, styled
from cs.cli.proof import SearchProof, prove_world
from cs.cli.settings_in_force import settings
from cs.cli.world_process import run_world
from cs.runtime import event_loop, logs
from cs.sandbox.world import listing, load

app = App(
    name="sandbox",
    help="Worlds for `cs serve --sandbox`: list, check and run one; prove the service on one.",
)

World = Annotated[Path | None, Parameter(help="A world file; the bundled one if left out.")]


@app.command(name="list")
@printing
def list_world(_: Invocation, world: World = None, /) -> Output:
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
@printing
async def prove(
    _: Invocation,
    world: World = None,
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
    wrong = sum(not row.right for row in proved)
    errors.print(f"{len(proved) - wrong} of {len(proved)} ended as the world intends")
    cells = [
        (
            row.asked,
            row.intended,
            row.ended,
            f"{len(row.verified)} of {len(row.expected)}",
            f"{row.seconds:.1f}",
            styled("[green]✓[/]")
            if row.right
            else styled("[red]✗[/] {}", " ".join(row.differs)),
        )
        for row in proved
    ]
    columns = ("Asked", "Intended", "Ended", "Verified", "Seconds", "")
    return Output(proved, [Table(columns, cells, ["Asked"])], code=bool(wrong))


def _tell(done: int, of: int, row: SearchProof) -> None:
    line = f"{done}/{of} {row.asked}: {row.ended} in {row.seconds:.1f} s"
    errors.print(styled("[dim]{}[/]", line))
