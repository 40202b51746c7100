"""One finding of ``cs doctor``."""

from typing import Literal

import msgspec

#: ``failed``: searches come to nothing or data is in danger; ``warning``: they are worse than
#: they could be; ``not tried``: nobody could find out, and `DoctorFinding.said` has why.
State = Literal["ok", "warning", "failed", "not tried"]


class DoctorFinding(msgspec.Struct, frozen=True):
    """What one check found out.

    Attributes:
        check: Its name, stable: ``port 25``.
        said: What was found, one sentence.
        advice: What to do about it; ``None`` where nothing is to be done.
    """

    check: str
    state: State
    said: str
    advice: str | None = None
