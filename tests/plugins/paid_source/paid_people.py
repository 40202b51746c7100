"""A people source that pays for each question and knows nobody."""

from typing import Annotated

import msgspec

from cs.plugins.sources import (
    BrandFacts,
    Fetcher,
    Forbidden,
    NotAsked,
    NotCharged,
    PaidCalls,
    PeopleAnswer,
    SourceContext,
    SourceStatus,
    Unreachable,
    takes,
)


class PaidSettings(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[str | None, msgspec.Meta(description="base of the provider's API")] = None
    takes_key: Annotated[
        bool, msgspec.Meta(description="charges once for an idempotency key")
    ] = False


class PaidPeople:
    name = "paid-people"

    def __init__(self, fetcher: Fetcher, paid: PaidCalls, settings: PaidSettings) -> None:
        self._fetcher, self._paid, self._settings = fetcher, paid, settings

    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        del limit
        if self._settings.url is None:
            why = "set sources.paid-people.url"
            return PeopleAnswer(source=self.name, ended=SourceStatus.NOT_CONFIGURED, why=why)
        asked = {"brand": brand.name, "domain": brand.domain or ""}

        async def make(key: str) -> bytes:
            answer = await self._fetcher.get(
                f"{self._settings.url}/people", params=asked, headers={"Idempotency-Key": key}
            )
            if answer.status != 200:
                raise NotCharged(f"status {answer.status}")
            return answer.body

        try:
            await self._paid.once(self.name, asked, make, takes_key=self._settings.takes_key)
        except (NotAsked, NotCharged, Unreachable, Forbidden) as error:
            return PeopleAnswer(source=self.name, ended=SourceStatus.FAILED, why=str(error))
        return PeopleAnswer(source=self.name, ended=SourceStatus.NO_RESULTS)


@takes(PaidSettings)
def from_context(context: SourceContext) -> PaidPeople:
    settings = msgspec.convert(context.settings, PaidSettings)
    return PaidPeople(context.trusted, context.paid, settings)
