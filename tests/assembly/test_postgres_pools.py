"""Addresses of databases are checked before anything is connected."""

import pytest

from cs.assembly.databases import pool_of
from cs.assembly.postgres_stores import open_shared_key_store
from cs.settings import BadSettings, Settings

ELSEWHERE = "postgresql://cs@db.example/cs"
INSECURE = Settings(postgres=ELSEWHERE, keys_postgres=ELSEWHERE, stages_postgres=ELSEWHERE)


async def test_the_key_store_of_a_command_is_refused_as_a_role_s_is() -> None:
    with pytest.raises(BadSettings, match="keys_postgres: "):
        async with open_shared_key_store(INSECURE, "command"):
            pass


@pytest.mark.parametrize("setting", ["postgres", "keys_postgres", "stages_postgres"])
def test_an_insecure_address_that_is_allowed_can_be_opened(setting: str) -> None:
    allowed = Settings(
        postgres=ELSEWHERE,
        keys_postgres=ELSEWHERE,
        stages_postgres=ELSEWHERE,
        insecure_postgres=True,
    )

    pool_of(allowed, setting, "command")

    with pytest.raises(BadSettings, match=f"{setting}: "):
        pool_of(INSECURE, setting, "command")
