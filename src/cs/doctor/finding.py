"""The findings of ``cs doctor``."""

from typing import Literal

import msgspec

#: ``failed``: searches come to nothing or data is in danger; ``warning``: they are worse than
#: they could be; ``not tried``: it could not be found out, and `DoctorFinding.said` says why.
State = Literal["ok", "warning", "failed", "not tried"]


class DoctorFinding(msgspec.Struct, frozen=True):
    """The result of one check.

    Attributes:
        check: Its name, stable: ``port 25``.
        said: What was found, one sentence.
        advice: What to do about it; ``None`` where nothing is to be done.
    """

    check: str
    state: State
    said: str
    advice: str | None = None


def ok(check: str, said: str) -> DoctorFinding:
    return DoctorFinding(check, "ok", said)


def warning(check: str, said: str, advice: str) -> DoctorFinding:
    return DoctorFinding(check, "warning", said, advice)


def failed(check: str, said: str, advice: str) -> DoctorFinding:
    return DoctorFinding(check, "failed", said, advice)


def not_tried(check: str, said: str, advice: str | None = None) -> DoctorFinding:
    return DoctorFinding(check, "not tried", said, advice)
