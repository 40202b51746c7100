"""Five lines for the operator who starts the service: what is set up and what is not."""

from collections.abc import Sequence

from cs.assembly.plugins import DIRECTORY, StagePlugins
from cs.assembly.settings_of_plugins import of_source, of_verifier
from cs.directory.store import DirectoryStatus
from cs.plugins.entry_points import Group, installed_plugins, names_of
from cs.plugins.sources import missing_of
from cs.settings import Settings

#: What a service with a key spends in a day at most, unless its table says otherwise
#: (`cs.paid_calls.service.ServiceSettings`).
_USD_PER_DAY = 10.0


def setup_lines(
    settings: Settings, plugins: StagePlugins, directory: DirectoryStatus | None = None
) -> list[str]:
    """Return five lines: brands, people, e-mails, who we are outside, and what may be spent.

    Args:
        settings: As the service was started with.
        plugins: Made from those.
        directory: Who is in the operator's own directory, if it can be read.
    """
    brands = [source.name for source in plugins.brand_sources if not missing_of(source)]
    people = [source.name for source in plugins.people_sources if not missing_of(source)]
    verifiers = [verifier.name for verifier in plugins.verifiers]
    return [
        _line("brands", brands, _others(Group.BRAND_SOURCES, brands), ""),
        _line(
            "people",
            [_with_people(name, directory) for name in people],
            _others(Group.PEOPLE_SOURCES, people),
            _of_people(people),
        )
        + _of_opinion(settings, plugins),
        _line(
            "e-mails",
            verifiers,
            _others(Group.VERIFIERS, verifiers),
            _of_verifiers(verifiers),
        ),
        _outside(settings),
        _spending(settings, plugins, people, verifiers),
    ]


def _with_people(name: str, directory: DirectoryStatus | None) -> str:
    if name != DIRECTORY or directory is None or not directory.people:
        return name
    return (
        f"{name} ({directory.people} people, known of {directory.oldest} to {directory.newest})"
    )


def _line(what: str, used: Sequence[str], missing: Sequence[str], costs: str) -> str:
    line = f"{what}: {', '.join(used) or 'none can be asked'}"
    if missing:
        line += f"; not set up: {', '.join(missing)}"
    return f"{line}; {costs}" if costs else line


def _others(group: Group, used: Sequence[str]) -> list[str]:
    return [name for name in names_of(installed_plugins(group)) if name not in used]


def _of_people(used: Sequence[str]) -> str:
    match len(used):
        case 0:
            return "every search ends without people: set searxng_url or a sources.NAME.key"
        case 1:
            return "people that it does not know are not found, and none while it is away"
        case _:
            return ""


def _of_opinion(settings: Settings, plugins: StagePlugins) -> str:
    if plugins.second_opinion is None:
        return ""
    return f"; headlines that the rules are unsure of: {settings.opinion_model}"


def _of_verifiers(used: Sequence[str]) -> str:
    if not used:
        return "no address is ever verified"
    if list(used) == ["smtp"]:
        return "people at domains that accept every address stay without one"
    return ""


def _outside(settings: Settings) -> str:
    helo = settings.smtp_helo or "this machine's name"
    line = f"outside: {helo} to mail servers"
    if settings.smtp_helo is None:
        line += " (set smtp_helo: many refuse a name that does not lead back here)"
    if settings.contact is None:
        line += "; no contact is set: Wikimedia asks for one, and slows who has none"
    return line


def _spending(
    settings: Settings,
    plugins: StagePlugins,
    people: Sequence[str],
    verifiers: Sequence[str],
) -> str:
    tables = [of_source(settings, name) for name in people]
    tables += [of_verifier(settings, name) for name in verifiers]
    caps = [
        float(table.get("usd_per_day", _USD_PER_DAY)) for table in tables if table.get("key")
    ]
    if plugins.second_opinion is not None and settings.opinion_usd_per_call:
        caps.append(settings.opinion_usd_per_day)
    if not caps:
        return "spending: nothing, no service with a key is asked"
    return f"spending: at most ${sum(caps):g} a day at {len(caps)} services with a key"
