"""``cs new``: a package for a source, a verifier or a stage of one's own, with its test."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from cs.cli.command import Invocation, Output, printing
from cs.cli.output import stop
from cs.domain.stages.table import OWN_STAGES
from cs.plugins.entry_points import installed_plugins
from cs.plugins.new_package import BadName, PackageKind, new_package

app = App(
    name="new",
    help="Write a package for a source, a verifier or a stage of your own.\n\n"
    "Its tests pass at once, and check it against the contract of its kind; its README says "
    "how to try it (docs/extending.md).",
)

Into = Annotated[Path, Parameter(help="Where the package's folder is made.")]
Name = Annotated[str, Parameter(help="Its name in the settings: acme, acme-people.")]


@app.command
@printing
def source(
    _: Invocation,
    name: Name,
    /,
    *,
    brands: Annotated[bool, Parameter(help="A source of brands; else of people.")] = False,
    into: Into = Path(),
) -> Output:
    """Write a source: one outside service that knows people, or with --brands brands.

    Example: `cs new source acme-people`
    """
    kind = PackageKind.BRAND_SOURCE if brands else PackageKind.PEOPLE_SOURCE
    return _write(kind, name, into)


@app.command
@printing
def verifier(_: Invocation, name: Name, /, *, into: Into = Path()) -> Output:
    """Write a verifier: one outside service that says whether a mailbox exists.

    Example: `cs new verifier oracle`
    """
    return _write(PackageKind.VERIFIER, name, into)


@app.command
@printing
def stage(
    _: Invocation,
    name: Annotated[
        str,
        Parameter(help=f"{', '.join(OWN_STAGES)}: whose work it does; or a new stage's name."),
    ],
    /,
    *,
    into: Into = Path(),
) -> Output:
    """Write a stage that does the work of a stage of the service, or one more stage.

    Examples: `cs new stage ranking`, `cs new stage catch-all-check`
    """
    kind = PackageKind.STAGE if name in OWN_STAGES else PackageKind.EXTRA_STAGE
    return _write(kind, name, into)


def _write(kind: PackageKind, name: str, into: Path) -> Output:
    group = kind.value.group
    try:
        folder_name, files = new_package(kind, name)
    except BadName as error:
        stop(str(error), 2)
    taken = [point for point in installed_plugins(group) if point.name == name]
    if taken:
        stop(f"the {group.kind} {name} is installed already: {taken[0].value}", 2)
    folder = into / folder_name
    try:
        folder.mkdir(parents=True)
        for place, text in files.items():
            (folder / place).parent.mkdir(exist_ok=True)
            (folder / place).write_text(text, "utf-8")
    except FileExistsError:
        stop(f"{folder} is there already: choose another name, or --into another folder", 2)
    except OSError as error:
        stop(f"{error.filename} cannot be made: {error.strerror}")
    steps = [f"cd {folder}", "pip install -e '.[test]'", "pytest"]
    made = sorted(str(each) for each in files)
    return Output(
        [{"folder": str(folder), "files": made, "next": steps}],
        [
            f"{folder}: {group.kind} {name}, {len(files)} files. Next:",
            *(f"  {step}" for step in steps),
            "and then what its README.md says.",
        ],
    )
