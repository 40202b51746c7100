"""The package as the image gets it: a wheel, built offline from what the build is sent."""

import shutil
import subprocess
import sys
import zipfile

import pytest

from deploy.compose_files import FOLDER
from deploy.dockerfile import stages

ROOT = FOLDER.parent
PACKAGE = ROOT / "src" / "cs"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("build")
    build, _ = stages(FOLDER / "Dockerfile")
    for copy in build.all("COPY"):
        *sources, _ = copy.words.split()
        for source in sources:
            if (ROOT / source).is_dir():
                left = shutil.ignore_patterns("__pycache__", "*.egg-info")
                shutil.copytree(ROOT / source, folder / source, ignore=left)
            else:
                shutil.copy(ROOT / source, folder)
    subprocess.run(
        [
            *(sys.executable, "-c"),
            "from setuptools import build_meta; build_meta.build_wheel('wheels')",
        ],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    (built,) = (folder / "wheels").glob("*.whl")
    return zipfile.ZipFile(built)


def test_every_file_of_the_package_is_in_the_image(wheel: zipfile.ZipFile) -> None:
    there = {
        str(each.relative_to(PACKAGE.parent))
        for each in PACKAGE.rglob("*")
        if each.is_file() and "__pycache__" not in each.parts
    }

    assert there - set(wheel.namelist()) == set()


def test_the_command_and_the_plug_ins_are_in_the_image(wheel: zipfile.ZipFile) -> None:
    (entries,) = [each for each in wheel.namelist() if each.endswith("entry_points.txt")]
    told = wheel.read(entries).decode()

    assert "cs = cs.__main__:main" in told
    assert {"[cs.brand_sources]", "[cs.people_sources]", "[cs.verifiers]"} <= {
        *told.splitlines()
    }
