"""A stage that is a plug-in: whatever it raises, its other work and the worker go on."""

from structlog import get_logger

from cs.domain.cause import raised_at, without_people
from cs.plugins.causes import cause_of, is_ours
from cs.plugins.plugin_settings import NO_SETTINGS, PluginSettings
from cs.plugins.stages import AnyFinding, Failed, Report, Stage, Work

log = get_logger()


class IsolatedStage:
    """Args: *settings*: the stage's, whose secrets are shown nobody."""

    def __init__(self, stage: Stage, settings: PluginSettings = NO_SETTINGS) -> None:
        self._stage = stage
        self._settings = settings
        self.name = stage.name

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        try:
            return await self._stage.handle(work, report)
        except TimeoutError:
            return Failed(why="timeout", retryable=True)
        except BaseException as error:
            if is_ours(error):
                raise
            why = without_people(cause_of(error, self._settings))
            at = raised_at(error)
            log.error("stage_bug", stage=self.name, lookup=work.lookup, why=why, at=at)  # noqa: TRY400
            return Failed(why="bug", retryable=work.attempt < 2)
