"""One more stage: at mail domains that take every address, a second verifier is asked.

There no verifier proves a mailbox, so that contacts have no e-mail.  What the second one says
is shown as the fact `likely_email` of a contact: likely, and not verified.
"""

from datetime import timedelta
from typing import Annotated

import msgspec

from cs.plugins.stages import (
    AnyFinding,
    ExtraInput,
    ExtraStage,
    FactsFound,
    Failed,
    Lookup,
    PaidService,
    Person,
    PersonFacts,
    Question,
    Report,
    ServiceProblem,
    ServiceSettings,
    StageContext,
    StageName,
    Verdict,
    Work,
    takes,
)

NAME = "catch-all-check"


class Settings(ServiceSettings, frozen=True, kw_only=True):
    url: Annotated[str, msgspec.Meta(pattern=r"^https?://\S+$")]


class ServiceAnswer(msgspec.Struct):
    """No default: an answer without `exists` is an error, never "nobody exists"."""

    exists: dict[str, bool]  # by address


class CatchAllCheck:
    name: StageName = NAME

    def __init__(self, service: PaidService) -> None:
        self._service = service

    async def handle(self, work: Work, _: Report) -> AnyFinding:
        given = work.input
        assert isinstance(given, ExtraInput)
        asked = {each.person: address_of(each, given.item) for each in given.people}
        question = Question(
            path="/check", json={"addresses": sorted(filter(None, asked.values()))}
        )
        try:
            found = await self._service.ask(question, ServiceAnswer)
        except ServiceProblem as problem:
            return Failed(
                why="verifier-away",
                retryable=not problem.permanent,
                causes={self._service.name: problem.why},
            )
        return FactsFound(
            people=tuple(
                PersonFacts(person=person, facts={"likely_email": address})
                for person, address in asked.items()
                if address is not None and found.exists.get(address)
            )
        )


def address_of(person: Person, mail_domain: str) -> str | None:
    """Return the address that a source named, or else the commonest one for that name."""
    for address in person.addresses:
        if address.endswith(f"@{mail_domain}"):
            return address
    name = f"{person.first_name or ''}.{person.last_name or ''}".lower().replace(" ", "-")
    return f"{name}@{mail_domain}" if name.isascii() and len(name) > 1 else None


def give(run: Lookup) -> dict[str, list[str]]:
    """Return the people whose mail domain takes every address, by mail domain."""
    found: dict[str, list[str]] = {}
    for checked in run.checked:
        if checked.verdict is Verdict.CATCH_ALL and checked.person not in run.verified:
            found.setdefault(checked.mail_domain, []).append(checked.person)
    return found


@takes(Settings)
def from_context(context: StageContext) -> CatchAllCheck:
    settings = msgspec.convert(context.settings, Settings)
    headers = {"Authorization": f"Bearer {settings.key}"} if settings.key else {}
    return CatchAllCheck(context.service(NAME, settings, headers=headers))


ROW = ExtraStage(
    name=NAME,
    after="verification",
    give=give,
    sees=("first_name", "last_name", "addresses"),
    facts=("likely_email",),
    budget=timedelta(seconds=10),
    make=from_context,
)
