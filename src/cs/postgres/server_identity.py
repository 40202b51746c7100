"""Which servers an address of PostgreSQL would talk to without knowing who they are.

Without ``sslmode=verify-full`` any server at the address may ask for the password and
for everything after it: asyncpg's default is ``prefer``, which goes on in clear if the other
side says that it has no TLS, and ``require`` takes any certificate (PostgreSQL's manual,
section "SSL Support", table "SSL Mode Descriptions").
"""

import inspect
from urllib.parse import urlsplit

from asyncpg import connect_utils
from asyncpg.connect_utils import SSLMode
from asyncpg.exceptions import ClientConfigurationError

from cs.runtime.local_hosts import is_local

_NO_ADDRESS = (
    "it is no address of PostgreSQL, or an option of it is wrong; "
    "write / # ? and @ of a password as %2F %23 %3F and %40"
)


def unverified_hosts(dsn: str) -> tuple[str, ...]:
    """Return the hosts of *dsn* on other machines that need not prove who they are.

    What counts is what asyncpg makes of *dsn*, of the ``PG…`` variables and of a service
    file, so it is asked itself: whatever was read here as well could be read differently.

    Raises:
        ValueError: *dsn* is none, an option of it is wrong, or a file that it names cannot
            be used.
    """
    # Nothing public says it.
    parse = connect_utils._parse_connect_dsn_and_args  # type: ignore[attr-defined]  # noqa: SLF001
    arguments = dict.fromkeys(inspect.signature(parse).parameters)
    try:
        parts = urlsplit(dsn)
    except ValueError:  # it may repeat a part of the password
        raise ValueError(_NO_ADDRESS) from None
    # asyncpg ends a password at its first @, and takes the rest of it for the host.
    if "@" in parts.netloc.partition("@")[2] + parts.path:
        raise ValueError(_NO_ADDRESS)
    # With a password there is no look into the password file, which may not be there yet.
    try:
        addresses, found = parse(**(arguments | {"dsn": dsn, "password": ""}))
    except OSError as error:  # an ssl.SSLError is one
        why = error.strerror or "not in PEM form"
        raise ValueError(f"a file of sslrootcert, sslcert, sslkey or sslcrl: {why}") from error
    except ClientConfigurationError:
        raise
    except ValueError:  # of urllib, which may repeat a part of the password
        raise ValueError(_NO_ADDRESS) from None
    if found.sslmode >= SSLMode.verify_full:
        return ()
    hosts = (each if isinstance(each, str) else each[0] for each in addresses)
    return tuple(dict.fromkeys(host for host in hosts if not is_local(host)))
