"""``cs new``: a package for a source, a verifier or a stage of one's own, with its test."""

from pathlib import Path, PurePosixPath
from typing import Annotated

from cyclopts import App, Parameter

from cs.cli.options import Json
from cs.cli.output import console, print_json, stop
from cs.domain.stages.work import StageName
from cs.plugins.entry_points import installed_plugins
from cs.plugins.new_package import BadName, PackageKind, new_package

app = App(
    name="new",
    help="Write a package for a source, a verifier or a stage of your own.\n\n"
    "Its tests pass at once, and hold it to what every one of its kind must do; its README "
    "says how it is tried (docs/plugins.md).",
)

Into = Annotated[Path, Parameter(help="Where the package's folder is made.")]
Name = Annotated[str, Parameter(help="What it is called in the settings: acme, acme-people.")]


@app.command
def source(
    name: Name,
    /,
    *,
    brands: Annotated[
        bool, Parameter(negative="", help="One that finds brands; else one that finds people.")
    ] = False,
    into: Into = Path(),
    json: Json = False,
) -> None:
    """Write a source: one outside service that knows people, or with --brands brands.

    Example: `cs new source acme-people`
    """
    kind = PackageKind.BRAND_SOURCE if brands else PackageKind.PEOPLE_SOURCE
    _write(kind, name, into, json=json)


@app.command
def verifier(name: Name, /, *, into: Into = Path(), json: Json = False) -> None:
    """Write a verifier: one outside service that says whether a mailbox exists.

    Example: `cs new verifier oracle`
    """
    _write(PackageKind.VERIFIER, name, into, json=json)


@app.command
def stage(
    name: Annotated[StageName, Parameter(help="The stage whose work it does.")],
    /,
    *,
    into: Into = Path(),
    json: Json = False,
) -> None:
    """Write a stage that does the work of one of ours.

    Example: `cs new stage ranking`
    """
    _write(PackageKind.STAGE, name, into, json=json)


def _write(kind: PackageKind, name: str, into: Path, *, json: bool) -> None:
    group = kind.value.group
    try:
        folder_name, files = new_package(kind, name)
    except BadName as error:
        stop(str(error), 2)
    taken = [point for point in installed_plugins(group) if point.name == name]
    if taken:
        stop(f"a {group.kind} {name} is installed already: {taken[0].value}", 2)
    folder = into / folder_name
    _write_files(folder, files)
    steps = [f"cd {folder}", "pip install -e '.[test]'", "pytest"]
    if json:
        made = sorted(str(each) for each in files)
        print_json({"folder": str(folder), "files": made, "next": steps})
        return
    console.print(f"{folder}: {group.kind} {name}, {len(files)} files. Next:")
    for step in steps:
        console.print(f"  {step}")
    console.print("and then what its README.md says.")


def _write_files(folder: Path, files: dict[PurePosixPath, str]) -> None:
    """Write *files* into *folder*, which is new: nothing of anybody's is overwritten."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        stop(f"{folder} is there already: choose another name, or --into another folder", 2)
    except OSError as error:
        stop(f"{folder} cannot be made: {error.strerror}")
    try:
        for place, text in files.items():
            file = folder / place
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, "utf-8")
    except OSError as error:
        stop(f"{folder} cannot be written: {error.strerror}")
