"""The image: rules for its Dockerfile, and the package as it gets in, built offline."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from cs.settings import load
from deploy.compose_files import FOLDER, project
from harness.servers.missing import Missing

pytestmark = pytest.mark.slow

DOCKERFILE = FOLDER / "Dockerfile"
ROOT = FOLDER.parent
PACKAGE = ROOT / "src" / "cs"
#: Lines that go on are joined, comments are left out.
TEXT = re.sub(r"\s*\\\n\s*", " ", re.sub(r"(?m)^#.*\n", "", DOCKERFILE.read_text()))
BASES, BUILD, FINAL = TEXT.split("\nFROM ")
#: What the build takes from the repository: all that COPY names but the place at its end.
COPIED = [
    source for words in re.findall(r"(?m)^COPY (.*) \S+$", BUILD) for source in words.split()
]


def test_the_service_runs_as_an_account_that_owns_no_file_and_can_install_nothing() -> None:
    assert re.findall(r"(?m)^COPY (.*)", FINAL) == ["--from=build /opt/cs /opt/cs"]
    assert re.search(r"(?m)^USER [1-9]\d{3,}:[1-9]\d{3,}$", FINAL.partition("\nCOPY ")[2])
    assert "-name ensurepip -o -name pip " in FINAL


def test_both_bases_have_the_same_python() -> None:
    bases = dict(re.findall(r"(?m)^ARG (\w+)=(\S+)$", BASES))

    assert bases["BASE"] == f"{bases['BUILD_BASE']}-slim"


def test_it_listens_where_it_is_exposed_and_has_a_volume_for_its_data() -> None:
    (given,) = re.findall(r"(?m)^ENV (.*)", FINAL)
    settings = load(environment=dict(each.split("=") for each in given.split()))

    assert re.findall(r"(?m)^EXPOSE (.*)", FINAL) == [str(settings.port)]
    assert settings.host == "0.0.0.0"
    assert settings.admin_host == "127.0.0.1", "the admin port has no keys"
    assert re.findall(r"(?m)^VOLUME (.*)", FINAL) == [str(settings.data_dir)]


def test_it_has_what_the_service_needs_and_what_sends_traces() -> None:
    run, image, dev = (
        {
            pin
            for line in (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
            if (pin := line.partition(" ")[0]) and line[0].isalpha()
        }
        for name in ("run", "image", "dev")
    )

    assert run < image <= dev, "make lock"
    assert {each.partition("==")[0] for each in image} >= {
        "opentelemetry-sdk",
        "opentelemetry-exporter-otlp-proto-http",
    }


def test_everything_is_installed_from_pinned_wheels() -> None:
    installs = re.findall(r"\bpip\b[^&\n]* install\b[^&\n]*", TEXT)

    assert len(installs) == 3
    for command in installs:
        assert "--no-deps" in command
        pinned = "--require-hashes" in command and "--only-binary" in command
        assert "--no-index" in command or pinned, command


def test_no_secret_is_built_in() -> None:
    for name, words in re.findall(r"(?m)^(ARG|ENV|LABEL) (.*)", TEXT):
        assert not re.search(r"(?i)password|secret|token|_key", words), name


def test_the_build_is_sent_what_it_copies_and_nothing_else() -> None:
    lines = (FOLDER / "Dockerfile.dockerignore").read_text().splitlines()
    sent = [line[1:] for line in lines if line.startswith("!")]

    assert lines[1] == "*", "everything else stays"
    assert sorted(sent) == sorted(COPIED)


def test_tag_and_label_are_the_version_of_the_package() -> None:
    (version,) = re.findall(r'(?m)^version = "(.*)"$', (ROOT / "pyproject.toml").read_text())

    assert f"\nARG VERSION={version}\n" in FINAL
    assert project()["services"]["api"]["image"] == f"contact-search:{version}"


def test_hadolint_reports_nothing() -> None:
    """The linter is a GPL program of the development packages: run and never shipped."""
    installed = Path(sys.executable).parent / "hadolint"
    found = str(installed) if os.access(installed, os.X_OK) else shutil.which("hadolint")
    if found is None:
        raise Missing("hadolint is not here; our own rules were checked all the same")
    checked = subprocess.run(
        [found, "--no-color", DOCKERFILE], capture_output=True, text=True, check=False
    )

    assert (checked.returncode, checked.stdout) == (0, "")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("build")
    for source in COPIED:
        if (ROOT / source).is_dir():
            left_out = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(ROOT / source, folder / source, ignore=left_out)
        else:
            shutil.copy(ROOT / source, folder)
    build = "from setuptools import build_meta; build_meta.build_wheel('wheels')"
    subprocess.run([sys.executable, "-c", build], cwd=folder, check=True, capture_output=True)
    (built,) = (folder / "wheels").glob("*.whl")
    return zipfile.ZipFile(built)


def test_every_file_of_the_package_is_in_the_image(wheel: zipfile.ZipFile) -> None:
    files = {
        str(each.relative_to(PACKAGE.parent))
        for each in PACKAGE.rglob("*")
        if each.is_file() and "__pycache__" not in each.parts
    }

    assert files - set(wheel.namelist()) == set()


def test_the_command_and_the_plug_ins_are_in_the_image(wheel: zipfile.ZipFile) -> None:
    (entries,) = [each for each in wheel.namelist() if each.endswith("entry_points.txt")]
    lines = wheel.read(entries).decode().splitlines()

    assert {
        "cs = cs.__main__:main",
        *("[cs.brand_sources]", "[cs.people_sources]", "[cs.verifiers]"),
    } <= set(lines)
