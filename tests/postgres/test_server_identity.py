from pathlib import Path

import pytest

from cs.postgres.errors import InsecureAddress
from cs.postgres.pool import open_pool, unverified_hosts
from cs.sandbox.certificates import Authority
from postgres.password_asker import asking_for_passwords

USER = "postgresql://cs:secret@"


@pytest.mark.parametrize(
    "address",
    [
        "postgresql:///cs",
        f"{USER}/cs?host=/run/postgresql",
        f"{USER}127.0.0.1/cs",
        f"{USER}127.20.0.1:6000/cs?sslmode=disable",
        f"{USER}[::1]:5432/cs",
        f"{USER}localhost/cs",
        f"{USER}127.0.0.1,localhost:5433/cs",
    ],
)
def test_this_machine_need_not_prove_who_it_is(address: str) -> None:
    assert unverified_hosts(address) == ()


@pytest.mark.parametrize(
    ("address", "hosts"),
    [
        (f"{USER}db.internal/cs", ("db.internal",)),
        (f"{USER}DB.internal:6000/cs?sslmode=prefer", ("DB.internal",)),
        *(
            (f"{USER}db/cs?sslmode={mode}", ("db",))
            for mode in ("disable", "allow", "prefer", "require")
        ),
        (f"{USER}127.0.0.1,db-2:5433,db-3/cs", ("db-2", "db-3")),
        (f"{USER}/cs?host=db-2,localhost", ("db-2",)),
        (f"{USER}%64b/cs", ("db",)),
        (f"{USER}10.0.0.1/cs", ("10.0.0.1",)),
        (f"{USER}[fe80::1]/cs", ("fe80::1",)),
        (f"{USER}localhost.example/cs", ("localhost.example",)),
        (f"{USER}127.1/cs", ("127.1",)),
    ],
)
def test_another_machine_is_named(address: str, hosts: tuple[str, ...]) -> None:
    assert unverified_hosts(address) == hosts


@pytest.mark.parametrize("mode", ["verify-ca", "verify-full"])
def test_only_a_certificate_for_that_very_host_is_proof(tmp_path: Path, mode: str) -> None:
    file = Authority(tmp_path).ca_file
    found = unverified_hosts(f"{USER}db.internal/cs?sslmode={mode}&sslrootcert={file}")

    assert found == (() if mode == "verify-full" else ("db.internal",))


def test_what_asyncpg_takes_from_the_environment_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGHOST", "db.internal")
    assert unverified_hosts("postgresql:///cs") == ("db.internal",)

    monkeypatch.setenv("PGSSLMODE", "verify-full")
    monkeypatch.setenv("PGSSLROOTCERT", str(Authority(tmp_path).ca_file))
    assert unverified_hosts("postgresql:///cs") == ()
    assert unverified_hosts("postgresql:///cs?sslmode=prefer") == ("db.internal",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("sslmode=maybe", "sslmode"),
        ("sslmode=verify-full&sslrootcert=/nowhere", "sslrootcert.*No such file"),
        (f"sslmode=verify-full&sslrootcert={__file__}", "sslrootcert"),
    ],
)
def test_an_option_that_cannot_be_used_is_reported(options: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        unverified_hosts(f"{USER}db.internal/cs?{options}")


@pytest.mark.parametrize("password", ["sec/ret", "sec?ret=1", "sec\u2100ret", "sec#ret"])
def test_an_address_that_cannot_be_read_is_not_repeated(password: str) -> None:
    with pytest.raises(ValueError, match=r"no address|port") as caught:
        unverified_hosts(f"postgresql://cs:{password}@db.internal/cs")

    assert "sec" not in str(caught.value)
    assert "ret" not in str(caught.value)


@pytest.mark.parametrize("how", ["cleartext", "md5"])
async def test_a_pool_is_not_opened_unless_that_is_allowed(how: str) -> None:
    with asking_for_passwords("md5" if how == "md5" else "cleartext") as asker:
        address = f"postgresql://cs:secret@0.0.0.0:{asker.port}/cs"
        with pytest.raises(InsecureAddress, match=r"0\.0\.0\.0 is on another machine"):
            async with open_pool(address, role="test") as pool:
                await pool.fetch("SELECT 1")

    assert (asker.visitors, asker.passwords) == (0, [])
