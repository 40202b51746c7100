"""Arming the fail points and the faults of the bus that the environment names."""

import os
from collections.abc import Callable

from cs.bus import faulty
from cs.bus.errors import BadBusFaults
from cs.runtime import failpoints
from cs.settings import BadSettings


def arm_faults(*, sandbox: bool) -> None:
    """Arm what the environment names, which is for the sandbox only.

    Raises:
        BadSettings: There is something, and this is no sandbox, or it is not ours.
    """
    _arm(failpoints.VARIABLE, failpoints.arm, "it kills the service on purpose", sandbox)
    _arm(faulty.VARIABLE, faulty.arm, "it loses messages on purpose", sandbox)


def _arm(variable: str, arm: Callable[[str], None], why: str, sandbox: bool) -> None:
    text = os.environ.get(variable)
    if not text:
        return
    if not sandbox:
        raise BadSettings(
            f"environment variable {variable}: {why}; unset it, or serve with --sandbox"
        )
    try:
        arm(text)
    except (failpoints.BadFailPoint, BadBusFaults) as error:
        raise BadSettings(f"environment variable {variable}: {error}") from error
