"""This machine and its servers: disk, secret files, open files, clock, databases, brokers."""

import logging
import resource
import shutil
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from tempfile import TemporaryFile

import asyncpg

from cs.bus.errors import BusUnavailable, CannotApply
from cs.bus.kafka.settings import KafkaSettings
from cs.bus.kafka.topics import describe
from cs.bus.topics import TOPICS
from cs.doctor.finding import DoctorFinding, failed, not_tried, ok, warning
from cs.postgres.clock import MOST_SKEW_S, DatabaseTime
from cs.postgres.errors import DatabaseUnavailable, WrongSchema
from cs.postgres.pool import connected, open_pool
from cs.postgres.schema import Store
from cs.postgres.schema import check as check_schema
from cs.runtime.private_files import exposed

GIB = 1 << 30
#: An event takes 1.3 KB on SQLite (a log of 10 million: 13.2 GB), a live search some hundred.
ENOUGH_BYTES, LITTLE_BYTES = 10 * GIB, GIB
#: A call that is held is an open file, and so is each connection to the outside.
FILES = 4_096
#: A date in a head is right to the second (RFC 9110, section 5.6.7), and some way behind.
CLOSE_S, FAR_S = 5.0, 60.0


def check_disk(folder: Path) -> DoctorFinding:
    """Return whether *folder*, which need not exist yet, can be written and has room."""
    there = next(
        each for each in (folder.absolute(), *folder.absolute().parents) if each.exists()
    )
    if not there.is_dir():
        return failed("disk", f"{there} is no folder", "name another with --data-dir")
    try:
        with TemporaryFile(dir=there):
            pass
    except OSError as error:
        said = f"{there} cannot be written: {error.strerror}"
        advice = "give this user the right to write it, or name another folder with --data-dir"
        return failed("disk", said, advice)
    free = shutil.disk_usage(there).free
    said = f"{free / GIB:.1f} GiB free for {folder}"
    if free >= ENOUGH_BYTES:
        return ok("disk", said)
    advice = (
        "make room; the service stops taking searches when the disk is full, and loses none"
    )
    return (failed if free < LITTLE_BYTES else warning)("disk", said, advice)


def check_secret_file(setting: str, path: Path) -> DoctorFinding:
    """Return whether other users may read *path*, the file of *setting*."""
    check = f"file {setting}"
    try:
        problem = exposed(path)
    except OSError as error:
        said = f"{path} cannot be looked at: {error.strerror}"
        return failed(check, said, f"mend its rights, or set {setting} to another")
    if problem is None:
        return ok(check, f"nobody else can read {path}")
    said, _, advice = problem.partition("; ")
    return failed(check, said, advice)


def check_open_files(holds: int) -> DoctorFinding:
    """Return whether this process may open enough files to hold *holds* calls at once."""
    wanted = max(FILES, 2 * holds)
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit in {-1, resource.RLIM_INFINITY} or limit >= wanted:
        return ok("open files", f"at most {limit}, and {wanted} are enough")
    advice = f"ulimit -n {wanted}, or LimitNOFILE={wanted} in the unit of systemd"
    return warning("open files", f"at most {limit} at once, and {wanted} may be", advice)


def check_clock(now: datetime, date: str | None, source: str) -> DoctorFinding:
    """Return how far this machine's clock is off.

    Args:
        now: Its time, in UTC.
        date: The ``Date`` field of an answer that came at that time.
        source: Who gave that answer, for people.
    """
    try:
        off = (now - parsedate_to_datetime(date or "")).total_seconds()
    except (TypeError, ValueError, OverflowError):  # no date, or one without a zone
        return not_tried("clock", f"{source} does not say what time it is")
    if abs(off) <= CLOSE_S:
        return ok("clock", f"as {source} has it, to within {CLOSE_S:g} s")
    said = f"{abs(off):,.0f} s {'ahead of' if off > 0 else 'behind'} what {source} says"
    advice = "let it follow NTP: timedatectl set-ntp true"
    return (failed if abs(off) > FAR_S else warning)("clock", said, advice)


async def check_database(
    setting: str, store: Store, dsn: str, *, insecure: bool
) -> DoctorFinding:
    """Return whether the database of *setting* answers and has this version's schema."""
    check = f"database {setting}"
    try:
        async with (
            open_pool(dsn, role="doctor", most=2, insecure=insecure) as pool,
            connected(pool) as connection,
        ):
            await check_schema(connection, store)
            time = DatabaseTime(pool)
            await time.ask()
            version = ".".join(map(str, connection.get_server_version()[:2]))
    except DatabaseUnavailable as error:
        advice = "see that the server runs and lets this user in"
        return failed(check, str(error), advice)
    except WrongSchema as error:
        return failed(check, str(error), "run `cs db migrate`")
    except (ValueError, asyncpg.PostgresError) as error:  # InsecureAddress is a ValueError
        return failed(check, str(error), f"mend the setting {setting}")
    if abs(time.skew_s) > MOST_SKEW_S:
        said = f"this machine's clock is {time.skew_s:+.1f} s off the database's"
        return failed(check, said, "let both follow NTP; roles are not ready so")
    return ok(check, f"PostgreSQL {version} answers, its schema is this version's")


async def check_brokers(on: KafkaSettings) -> DoctorFinding:
    """Return whether the brokers of *on* answer and have the topics of this version."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # what matters is in the finding
    try:
        states = await describe(on, TOPICS)
    except (BusUnavailable, CannotApply) as error:
        advice = "see that brokers run, and that the settings kafka... are theirs"
        return failed("Kafka", str(error), advice)
    there = {state.name for state in states}
    missing = sorted({on.on_broker(plan.name) for plan in TOPICS} - there)
    if missing:
        said = f"topics are missing: {', '.join(missing)}"
        return failed("Kafka", said, "run `cs topics apply`")
    if any(state.replication < 2 for state in states):
        said = f"{len(states)} topics, some on one broker only"
        return warning(
            "Kafka", said, "a broker that is lost takes them along: replicate them to 3"
        )
    return ok("Kafka", f"brokers answer and have the {len(states)} topics")
