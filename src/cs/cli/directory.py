"""``cs directory``: the operator's own people, the first source that a search asks."""

from typing import Annotated, Any, NoReturn

import msgspec
from cyclopts import App, Parameter

from cs.assembly.operator_command import CommandContext
from cs.assembly.people_directory import open_directory
from cs.cli.choosing import Reveal
from cs.cli.command import Invocation, Output, number, on_data
from cs.cli.output import Table, facts, stop
from cs.cli.people import UNNAMED, Named
from cs.directory.person import DirectoryPerson
from cs.directory.store import PeopleDirectory
from cs.domain.contact import BrandFacts
from cs.domain.disclosure import DisclosedEvents
from cs.domain.names.brand_names import Unacceptable, canonical_domain, clean_brand
from cs.settings import BadSettings
from cs.sources.people_directory.source import is_meant, places_asked

#: People that are listed, unless another number is asked for.
LIMIT = 100
#: Fields shown without --reveal: none of them identifies a person.
_IN_CLEAR = ("title", "company", "domain", "as_of")

app = App(
    name="directory",
    help="Your own directory of people, which searches ask first and for free.",
)
app.command("cs.cli.imports:import_people", name="import")


def directory_of(data: CommandContext) -> PeopleDirectory:
    """Return the directory of *data*, with its key.

    Raises:
        BadSettings: The settings do not say where it is, or do not name its key.
    """
    if data.directory is None:
        raise BadSettings(
            "the directory of people is in the stages' database: set CS_STAGES_POSTGRES and "
            "CS_STAGES_KEY_FILE, as for the stages themselves"
        )
    return data.directory


@app.command
@on_data
async def status(at: Invocation) -> Output:
    """Show how many people there are, and of which days they are known.

    Example: `cs directory status --json`
    """
    found = await (await at.opened(open_directory(at.settings()))).status()
    said = f"{found.people} people, known of {found.oldest} to {found.newest}"
    return Output(
        [found], [said if found.people else "no people yet: cs directory import FILE"]
    )


@app.command(name="list")
@on_data
async def list_people(
    at: Invocation,
    *,
    brand: Annotated[str, Parameter(help="A company's name, or the domain of its web site.")],
    limit: Annotated[int, number(1, 10_000, "People at most.")] = LIMIT,
    reveal: Reveal = None,
) -> Output:
    """List the people who would be found for a company, the latest known first.

    Names, profiles and e-mails are shown with --reveal only.

    Example: `cs directory list --brand Veltrana --reveal "Check of the import, ticket 12"`
    """
    facts = _brand(brand)
    directory = await _opened(at, "directory list", reveal)
    people = await directory.people_at(places_asked(facts), limit=limit)
    found = [person for person in people if is_meant(facts, person)]
    shown = [_shown(person, reveal) for person in found]
    fields = "title company domain as_of"
    if reveal:
        fields = f"full_name {fields} profile email"
    text: list[str | Table] = [Table.of(shown, fields, "title profile")]
    if not reveal and found:
        text.append(f"{len(found)} people; --reveal WHY shows who they are")
    return Output(shown, text)


@app.command
@on_data
async def show(at: Invocation, *, named: Named = UNNAMED, reveal: Reveal = None) -> Output:
    """Show one person as the directory has them, all of it with --reveal only.

    Example: `cs directory show --profile https://www.linkedin.com/in/jane-doe-1a2b`
    """
    key = named.known_as
    found = await (await _opened(at, "directory show", reveal)).get(key)
    if found is None:
        _stop_unknown()
    shown = _shown(found, reveal)
    return Output([shown], facts(shown))


@app.command
@on_data
async def remove(at: Invocation, *, named: Named = UNNAMED) -> Output:
    """Remove one person from the directory; a later import may bring them back.

    A person who asks to be forgotten is erased instead (`cs people erase`): from everything,
    for good.

    Example: `cs directory remove --profile https://www.linkedin.com/in/jane-doe-1a2b`
    """
    key = named.known_as
    if not await (await at.opened(open_directory(at.settings()))).remove(key):
        _stop_unknown()
    return Output([{"removed": 1}], ["removed; an import of a file with them brings them back"])


@app.command
@on_data
async def clear(
    at: Invocation,
    *,
    yes: Annotated[bool, Parameter(help="Do it: nothing brings them back.")] = False,
) -> Output:
    """Remove all people from the directory. Cannot be undone, so it takes --yes.

    Example: `cs directory clear --yes`
    """
    if not yes:
        stop("this removes all people from the directory: add --yes to do it", 2)
    people = await (await at.opened(open_directory(at.settings()))).clear()
    return Output([{"removed": people}], [f"{people} removed"])


async def _opened(at: Invocation, command: str, why: str | None) -> PeopleDirectory:
    """Open the directory; that people are opened is stored first, if they are."""
    data = await at.data()
    if why is not None:  # it opens no event, so position 0
        await data.operator.disclose(command, why, DisclosedEvents(upto=0), upto=0)
    return directory_of(data)


def _brand(text: str) -> BrandFacts:
    try:
        name = clean_brand(text)
    except Unacceptable as error:
        stop(f"--brand: {error.message}", 2)
    try:
        return BrandFacts(name=name, domain=canonical_domain(name) if "." in name else None)
    except Unacceptable:
        return BrandFacts(name=name)


def _stop_unknown() -> NoReturn:
    stop("no person in the directory goes by that; `cs directory list --brand NAME`")


def _shown(person: DirectoryPerson, reveal: str | None) -> dict[str, Any]:
    shown = DirectoryPerson.__struct_fields__ if reveal else _IN_CLEAR
    fields: dict[str, Any] = msgspec.to_builtins({f: getattr(person, f) for f in shown})
    return fields
