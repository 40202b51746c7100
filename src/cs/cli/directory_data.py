"""The operator's own directory of people, as commands work with it."""

from cs.assembly.operator_command import CommandContext
from cs.directory.port import PeopleDirectory
from cs.settings import BadSettings


def whole(data: CommandContext) -> PeopleDirectory:
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
