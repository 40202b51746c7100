"""``cs people``: what somebody who was found may ask of the operator."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from cyclopts import App, Parameter

from cs.beside import beside
from cs.cli.options import Config, DataDir, Json, settings
from cs.cli.output import console, print_json, stop
from cs.domain.mailbox_syntax import is_mailbox
from cs.erasure import Erased, Erasure
from cs.settings import Settings
from cs.sources.social_pages import person_page

app = App(name="people", help="Erase a person who asks to be forgotten.")


@app.command
def erase(
    *,
    email: Annotated[str | None, Parameter(help="A work e-mail of theirs.")] = None,
    profile: Annotated[str | None, Parameter(help="Address of their LinkedIn profile.")] = None,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Erase a person from everything stored, and keep later searches from finding them.

    Works on the data folder, beside a running service or without one; a running one
    drops what it holds in memory within a second. Cannot be undone. Doing it again does
    no harm, and finishes one that was interrupted. Neither the address nor the profile
    is stored or printed.

    Example: `cs people erase --profile https://www.linkedin.com/in/jane-doe-1a2b`
    """
    if (email is None) == (profile is None):
        stop("name the person by --email or by --profile, one of the two", 2)
    page = person_page(profile) if profile is not None else None
    if profile is not None and page is None:
        stop("--profile: a LinkedIn profile, https://www.linkedin.com/in/…", 2)
    if email is not None and not is_mailbox(email.strip()):
        stop("--email: one address, somebody@example.com", 2)

    async def run() -> Erased:
        async with _erasure(settings(config, data_dir=data_dir)) as erasure:
            if email is not None:
                return await erasure.erase_mailbox(email)
            assert page is not None, "one of the two was given"
            return await erasure.erase_profile(page)

    done = asyncio.run(run())
    if json:
        print_json(
            {
                "known": done.lookups > 0,
                "lookups": done.lookups,
                "keys_destroyed": done.keys,
                "suppressed": True,
                "changed": done.new,
            }
        )
    else:
        console.print(_told(done))


@app.command
def reapply(*, json: Json = False, data_dir: DataDir = None, config: Config = None) -> None:
    """Erase again everybody who was ever erased.

    For after `keys.db` came back from a backup: it has keys that were destroyed since.

    Example: `cs people reapply --data-dir /var/lib/cs`
    """

    async def run() -> int:
        async with _erasure(settings(config, data_dir=data_dir)) as erasure:
            return await erasure.erase_all_again()

    people = asyncio.run(run())
    if json:
        print_json({"people": people})
    else:
        console.print(f"{people} erased again")


@asynccontextmanager
async def _erasure(chosen: Settings) -> AsyncIterator[Erasure]:
    async with beside(chosen) as data:
        views = data.view_runner()
        yield Erasure(
            data.streams,
            data.keys,
            data.clock,
            views.catch_up,
            forget_calls=data.forget_calls,
            by=data.by,
        )


def _told(done: Erased) -> str:
    later = "later searches leave this person out"
    if not done.lookups:
        return f"nothing is known of this person; {later}"
    if not done.new:
        return f"this person was erased before; {later}"
    found = "lookup" if done.lookups == 1 else "lookups"
    return f"erased from {done.lookups} {found}; {later}"
