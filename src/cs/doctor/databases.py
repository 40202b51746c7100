"""The PostgreSQL databases of a service on many machines."""

import asyncpg

from cs.doctor.finding import DoctorFinding
from cs.postgres.clock import MOST_SKEW_S, DatabaseTime
from cs.postgres.errors import DatabaseUnavailable, OtherParts, WrongSchema
from cs.postgres.pool import connected, open_pool
from cs.postgres.schema import check as check_schema
from cs.postgres.schema_steps import Store
from cs.postgres.work_parts import check_parts


async def check_database(
    setting: str, store: Store, dsn: str, *, insecure: bool, parts: int
) -> DoctorFinding:
    """Return whether the database that *setting* names answers, and is of this version.

    The service's is also asked whether roles share their work out into other *parts*.
    """
    check = f"database {setting}"
    try:
        async with (
            open_pool(dsn, role="doctor", most=2, insecure=insecure) as pool,
            connected(pool) as connection,
        ):
            await check_schema(connection, store)
            if store == "service":
                await check_parts(connection, parts)
            time = DatabaseTime(pool)
            await time.ask()
            version = ".".join(map(str, connection.get_server_version()[:2]))
    except DatabaseUnavailable as error:
        advice = "see that the server runs and lets this user in"
        return DoctorFinding(check, "failed", str(error), advice)
    except OtherParts as error:
        return DoctorFinding(check, "failed", f"parts: {error}", "mend the setting parts")
    except WrongSchema as error:
        return DoctorFinding(check, "failed", str(error), "run `cs db migrate`")
    except (ValueError, asyncpg.PostgresError) as error:  # InsecureAddress is a ValueError
        return DoctorFinding(check, "failed", str(error), f"mend the setting {setting}")
    if abs(time.skew_s) > MOST_SKEW_S:
        said = f"this machine's clock is {time.skew_s:+.1f} s off the database's"
        return DoctorFinding(
            check, "failed", said, "let both follow NTP; roles are not ready so"
        )
    return DoctorFinding(
        check, "ok", f"PostgreSQL {version} answers, its schema is this version's"
    )
