"""Faults of the configuration, which keep searches from ending well until they are fixed.

Waiting mends none of it: no source to ask for people, a provider that refuses our key.  It is
logged when it is met, and on ``/readyz`` for as long as it lasts.
"""

from collections.abc import Mapping, Sequence

from structlog import get_logger

from cs.domain.stages.work import NO_BRAND_SOURCE, NO_PEOPLE_SOURCE, SOURCES_REFUSE
from cs.plugins.sources import INCONCLUSIVE, BrandAnswer, PeopleAnswer, SourceStatus

log = get_logger()


class Misconfiguration:
    """Remembers by setting or plug-in what is wrong with it.

    Attributes:
        reasons: Name and reason, for people.
        blocks: No search can end well as this process was started.
    """

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}
        self.blocks = False

    def begin(self, found: Mapping[str, str]) -> None:
        """Note what was *found* before anything was asked."""
        for name, why in found.items():
            self.note(name, why)
        self.blocks = bool(found)

    def note(self, name: str, why: str | None) -> None:
        """Note why *name* does not work, or with ``None`` that it works; log a change."""
        if why is None:
            if self.reasons.pop(name, None) is not None:
                log.info("misconfiguration_mended", name=name)
        elif self.reasons.get(name) != why:
            self.reasons[name] = why
            log.error("misconfigured", name=name, why=why)

    def note_answers(
        self, setting: str, answers: Sequence[BrandAnswer | PeopleAnswer]
    ) -> str | None:
        """Learn from how the sources of *setting* ended one run.

        Returns:
            Why asking again is of no use before the operator did something: no source
            is there that could answer (`NOBODY`), or all that are away refuse for good.
        """
        for answer in answers:
            name = f"sources.{answer.source}"
            if answer.permanent:
                self.note(name, answer.why or "refuses for good")
            elif answer.ended in {SourceStatus.USED, SourceStatus.NO_RESULTS}:
                self.note(name, None)
        configured = [each for each in answers if each.ended is not SourceStatus.NOT_CONFIGURED]
        if not configured:
            reasons = [f"{each.source}: {each.why or 'not configured'}" for each in answers]
            self.note(setting, f"none is configured; {'; '.join(reasons)}" if reasons else NONE)
            return NOBODY[setting]
        if not self.blocks:
            self.note(setting, None)
        away = [each for each in configured if each.ended in INCONCLUSIVE]
        return SOURCES_REFUSE if away and all(each.permanent for each in away) else None


NOBODY = {"brand_sources": NO_BRAND_SOURCE, "people_sources": NO_PEOPLE_SOURCE}
#: Of a setting that leaves no source to ask.
NONE = "none is in use"
