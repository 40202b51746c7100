import os
import stat
import subprocess
from pathlib import Path

import pytest

from deploy.compose_files import FOLDER, USERS, project

pytestmark = pytest.mark.slow

SCRIPT = FOLDER / "make-secrets"
OF_OTHERS = {"searxng_key", "kafka_jaas", "kafka_users"}
NAMES = set(project()["secrets"])


def _made(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, folder], capture_output=True, text=True, check=False)


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    assert _made(tmp_path).returncode == 0
    return tmp_path / "secrets"


def test_the_script_makes_exactly_the_mounted_secrets(secrets: Path) -> None:
    assert {each.name for each in secrets.iterdir()} == NAMES


def test_master_keys_are_32_bytes_and_passwords_fit_anywhere(secrets: Path) -> None:
    for name in ("master_key", "stages_key"):
        assert len((secrets / name).read_bytes()) == 32
    for name in [name for name in NAMES if name.endswith("_password")]:
        password = (secrets / name).read_text()
        assert len(password) == 48
        assert password.isalnum()


def test_only_the_account_of_the_containers_reads_them(secrets: Path) -> None:
    uid, gid = (10001, 10001) if os.getuid() == 0 else (os.getuid(), os.getgid())

    assert stat.S_IMODE(secrets.stat().st_mode) == 0o700
    assert (secrets.parent / ".env").read_text() == f"AS_UID={uid}\nAS_GID={gid}\n"
    for each in secrets.iterdir():
        mode = stat.S_IMODE(each.stat().st_mode)
        # SearXNG and Kafka run as other accounts; the folder is closed.
        assert mode == (0o444 if each.name in OF_OTHERS else 0o600), each.name
        assert (each.stat().st_uid, each.stat().st_gid) == (uid, gid)


def test_a_role_finds_the_passwords_of_its_own_databases_only(secrets: Path) -> None:
    def users(name: str) -> set[tuple[str, str]]:
        lines = [line.split(":") for line in (secrets / name).read_text().splitlines()]
        for _, port, database, _, password in lines:
            assert port == "5432"
            assert password == (secrets / f"{database}_password").read_text()
        return {(host, user) for host, _, _, user, _ in lines}

    service = {("postgres", "cs_service"), ("keys-postgres", "cs_keys")}
    assert users("service_pgpass") == service
    assert users("stages_pgpass") == {("postgres", "cs_stages")}
    assert users("migrate_pgpass") == service | {("postgres", "cs_stages")}


def test_the_brokers_know_the_passwords_of_the_roles(secrets: Path) -> None:
    lines = (secrets / "kafka_users").read_text().splitlines()

    assert lines[::2] == ["--add-scram"] * len(set(USERS.values()))
    for user, line in zip(sorted(set(USERS.values())), sorted(lines[1::2]), strict=True):
        file = secrets / f"kafka_{user.removeprefix('cs-').replace('-', '_')}_password"
        assert line == f"SCRAM-SHA-512=[name={user},password={file.read_text()}]"


@pytest.mark.parametrize("there", ["secrets", ".env"])
def test_the_script_refuses_to_overwrite_secrets(tmp_path: Path, there: str) -> None:
    (tmp_path / there).write_text("precious")

    refused = _made(tmp_path)

    assert refused.returncode == 1
    assert f"{tmp_path / there} is there already; nothing was changed" in refused.stderr
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {there: "precious"}
