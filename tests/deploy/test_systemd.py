"""The units of systemd, by systemd's own tools."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.compose_files import FOLDER, ROLES
from harness.servers.missing import Missing

pytestmark = pytest.mark.slow

ONE_PROCESS, ROLE = "contact-search.service", "contact-search@.service"
COMMAND = "/opt/contact-search/bin/cs"


def _analyze(*words: str | Path) -> subprocess.CompletedProcess[str]:
    found = shutil.which("systemd-analyze")
    if found is None:
        raise Missing("systemd-analyze is not here. Debian, Ubuntu: apt-get install systemd")
    return subprocess.run([found, *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("unit", [ONE_PROCESS, ROLE])
def test_a_unit_is_exposed_by_two_of_ten_at_most(unit: str) -> None:
    judged = _analyze(
        "security", "--offline=true", "--no-pager", "--threshold=20", FOLDER / "systemd" / unit
    )

    assert judged.returncode == 0, judged.stdout


@pytest.mark.parametrize("name", [ONE_PROCESS, *(ROLE.replace("@", f"@{r}") for r in ROLES)])
def test_systemd_takes_a_unit_without_a_word(name: str, tmp_path: Path) -> None:
    unit = tmp_path / name
    template = ROLE if "@" in name else ONE_PROCESS
    text = (FOLDER / "systemd" / template).read_text()
    assert text.count(COMMAND) == 1
    unit.write_text(text.replace(COMMAND, sys.executable))

    verified = _analyze("verify", "--man=no", "--recursive-errors=no", unit)

    assert (verified.returncode, verified.stderr) == (0, "")


def test_no_role_can_read_the_secrets_of_another() -> None:
    """Without a name of its own, a dynamic account is that of all units of a template."""
    service = (FOLDER / "systemd" / ROLE).read_text().partition("[Service]\n")[2]
    lines = service.splitlines()

    assert {"DynamicUser=yes", "User=cs-%i"} < set(lines)
    assert "LoadCredential=secret:/etc/contact-search/%i" in lines


def test_a_password_file_is_copied_to_where_its_group_may_not_read_it(tmp_path: Path) -> None:
    credentials, copies = tmp_path / "credentials", tmp_path / "copies"
    for folder in (credentials, copies):
        folder.mkdir()
    for name in ("secret_pgpass", "secret_master_key"):
        (credentials / name).touch(0o440)
    unit = (FOLDER / "systemd" / ROLE).read_text()
    (command,) = re.findall(r"(?m)^ExecStartPre=(.+)$", unit)
    words = command.replace("%d", str(credentials)).replace("%t/cs-%i", str(copies)).split()

    subprocess.run(words, check=True)

    assert {file.name: file.stat().st_mode & 0o777 for file in copies.iterdir()} == {
        "secret_pgpass": 0o400
    }
