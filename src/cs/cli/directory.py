"""``cs directory``: the operator's own people, whom searches ask for first."""

import asyncio
from typing import Annotated, Any, NoReturn

import msgspec
from cyclopts import App, Parameter

from cs.assembly.operator_command import CommandContext, open_command_context
from cs.assembly.people_directory import open_directory
from cs.cli.directory_data import whole
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import console, print_json, print_table, stop
from cs.cli.revealing import Reveal, check_reason, disclose
from cs.cli.settings_in_force import settings
from cs.directory.errors import DirectoryUnavailable
from cs.directory.person import DirectoryPerson
from cs.directory.port import DirectoryStatus
from cs.domain.contact import BrandFacts
from cs.domain.disclosure import DisclosedEvents
from cs.domain.mail.syntax import ascii_mailbox, is_mailbox
from cs.domain.names.brand_names import Unacceptable, canonical_domain, clean_brand
from cs.domain.names.profile_url import person_page
from cs.sources.people_directory.places import is_meant, places_asked

#: People that are listed, unless another number is asked for.
LIMIT = 100
LIMIT_MAX = 10_000
#: Without --reveal this is all that is shown of a person: nothing that says who it is.
_IN_CLEAR = ("title", "company", "domain", "as_of")

Profile = Annotated[str | None, Parameter(help="Address of their LinkedIn profile.")]
Email = Annotated[str | None, Parameter(help="Their e-mail, for who has no profile there.")]

app = App(
    name="directory",
    help="Your own directory of people, whom searches ask for first and for free.",
)
app.command("cs.cli.directory_import:import_people", name="import")


@app.command
def status(*, json: Json = False, data_dir: DataDir = None, config: Config = None) -> None:
    """Say how many people there are, and of which days they are known.

    Example: `cs directory status --json`
    """

    async def run() -> DirectoryStatus:
        async with open_directory(settings(config, data_dir=data_dir)) as directory:
            return await directory.status()

    found = _run(run())
    if json:
        print_json(found)
    elif not found.people:
        console.print("nobody yet: cs directory import FILE")
    else:
        console.print(f"{found.people} people, known of {found.oldest} to {found.newest}")


@app.command(name="list")
def list_people(
    *,
    brand: Annotated[str, Parameter(help="A company's name, or the domain of its web site.")],
    limit: Annotated[int, Parameter(help="People at most.")] = LIMIT,
    reveal: Reveal = None,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """List who would be found for a company, the latest known first.

    Names, profiles and e-mails are shown with --reveal only.

    Example: `cs directory list --brand Veltrana --reveal "Check of the import, ticket 12"`
    """
    if not 1 <= limit <= LIMIT_MAX:
        stop(f"--limit: a whole number from 1 to {LIMIT_MAX}, not {limit}", 2)
    check_reason(reveal)
    facts = _brand(brand)

    async def run() -> list[DirectoryPerson]:
        async with open_command_context(settings(config, data_dir=data_dir)) as data:
            await _note(data, "directory list", reveal)
            found = await whole(data).people_at(places_asked(facts), limit=limit)
            return [person for person in found if is_meant(facts, person)]

    found = _run(run())
    if json:
        for person in found:
            print_json(_shown(person, opened=reveal is not None))
        return
    fields = ("full_name", *_IN_CLEAR, "profile", "email") if reveal else _IN_CLEAR
    rows = [[str(getattr(person, field) or "") for field in fields] for person in found]
    titles = [field.replace("_", " ").capitalize() for field in fields]
    print_table(titles, rows, folds=["Title", "Profile"])
    if not reveal and found:
        console.print(f"{len(found)} people; --reveal WHY shows who they are")


@app.command
def show(
    *,
    profile: Profile = None,
    email: Email = None,
    reveal: Reveal = None,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Show one person as the directory has them, all of it with --reveal only.

    Example: `cs directory show --profile https://www.linkedin.com/in/jane-doe-1a2b`
    """
    known_as = _known_as(profile, email)
    check_reason(reveal)

    async def run() -> DirectoryPerson | None:
        async with open_command_context(settings(config, data_dir=data_dir)) as data:
            await _note(data, "directory show", reveal)
            return await whole(data).get(known_as)

    found = _run(run())
    if found is None:
        _nobody()
    shown = _shown(found, opened=reveal is not None)
    if json:
        print_json(shown)
        return
    for field, value in shown.items():
        if value:
            console.print(f"{field.replace('_', ' '):<12} {value}")


@app.command
def remove(
    *,
    profile: Profile = None,
    email: Email = None,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Remove one person from the directory; a later import may bring them back.

    Who asks to be forgotten is erased instead (`cs people erase`): from everything, for good.

    Example: `cs directory remove --profile https://www.linkedin.com/in/jane-doe-1a2b`
    """
    known_as = _known_as(profile, email)

    async def run() -> bool:
        async with open_directory(settings(config, data_dir=data_dir)) as directory:
            return await directory.remove(known_as)

    if not _run(run()):
        _nobody()
    if json:
        print_json({"removed": 1})
    else:
        console.print("removed; an import of a file with them brings them back")


@app.command
def clear(
    *,
    yes: Annotated[
        bool, Parameter(negative="", help="Do it: nothing brings them back.")
    ] = False,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Remove everybody from the directory. Cannot be undone, so it takes --yes.

    Example: `cs directory clear --yes`
    """
    if not yes:
        stop("this removes everybody from the directory: say --yes", 2)

    async def run() -> int:
        async with open_directory(settings(config, data_dir=data_dir)) as directory:
            return await directory.clear()

    people = _run(run())
    if json:
        print_json({"removed": people})
    else:
        console.print(f"{people} removed")


def _run(work: Any) -> Any:
    try:
        return asyncio.run(work)
    except DirectoryUnavailable as error:
        stop(str(error))


def _brand(text: str) -> BrandFacts:
    try:
        name = clean_brand(text)
    except Unacceptable as error:
        stop(f"--brand: {error.message}", 2)
    if "." not in name:
        return BrandFacts(name=name)
    try:
        return BrandFacts(name=name, domain=canonical_domain(name))
    except Unacceptable:
        return BrandFacts(name=name)


def _known_as(profile: str | None, email: str | None) -> str:
    if (profile is None) == (email is None):
        stop("name the person by --profile or by --email, one of the two", 2)
    if profile is not None:
        page = person_page(profile if "://" in profile else f"https://{profile}")
        if page is None:
            stop("--profile: a LinkedIn profile, https://www.linkedin.com/in/…", 2)
        return f"profile:{page}"
    address = ascii_mailbox(email or "").lower()
    if not is_mailbox(address):
        stop("--email: one address, somebody@example.com", 2)
    return f"email:{address}"


async def _note(data: CommandContext, command: str, why: str | None) -> None:
    """Store that people are opened, if they are: nobody of the log, but its head is known."""
    if why is not None:
        await disclose(data, command, why, DisclosedEvents(upto=0), upto=0)


def _nobody() -> NoReturn:
    stop("nobody in the directory goes by that; `cs directory list --brand NAME` lists who is")


def _shown(person: DirectoryPerson, *, opened: bool) -> dict[str, Any]:
    shown = DirectoryPerson.__struct_fields__ if opened else _IN_CLEAR
    fields: dict[str, Any] = msgspec.to_builtins({f: getattr(person, f) for f in shown})
    return fields
