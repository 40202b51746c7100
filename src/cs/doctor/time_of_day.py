"""Whether the clock of this machine is right, by what others say the time is."""

from datetime import datetime
from email.utils import parsedate_to_datetime

from cs.doctor.finding import DoctorFinding

#: A date in a head is right to the second (RFC 9110, section 5.6.7), and some way behind.
CLOSE_S, FAR_S = 5.0, 60.0
_ADVICE = "let it follow NTP: timedatectl set-ntp true"


def check_clock(now: datetime, date: str | None, source: str) -> DoctorFinding:
    """Return how far this machine's clock is off.

    Args:
        now: What it says, in UTC.
        date: The ``Date`` field of an answer that came at that time.
        source: Who gave that answer, for people.
    """
    check = "clock"
    try:
        said = parsedate_to_datetime(date or "")
        off = (now - said).total_seconds()
    except (TypeError, ValueError, OverflowError):  # no date, or one without a zone
        return DoctorFinding(check, "not tried", f"{source} does not say what time it is")
    if abs(off) <= CLOSE_S:
        return DoctorFinding(check, "ok", f"as {source} has it, to within {CLOSE_S:g} s")
    how = f"{abs(off):,.0f} s {'ahead of' if off > 0 else 'behind'} what {source} says"
    return DoctorFinding(check, "failed" if abs(off) > FAR_S else "warning", how, _ADVICE)
