"""Arming the fail points that the environment names."""

import os

from cs import failpoints
from cs.settings import BadSettings


def arm(*, sandbox: bool) -> None:
    """Arm the fail points of the environment, which are for the sandbox only.

    Raises:
        BadSettings: There are some, and this is no sandbox, or they are not ours.
    """
    text = os.environ.get(failpoints.VARIABLE)
    if not text:
        return
    if not sandbox:
        raise BadSettings(
            f"environment variable {failpoints.VARIABLE}: it kills the service on purpose; "
            "unset it, or serve with --sandbox"
        )
    try:
        failpoints.arm(text)
    except failpoints.BadFailPoint as error:
        raise BadSettings(f"environment variable {failpoints.VARIABLE}: {error}") from error
