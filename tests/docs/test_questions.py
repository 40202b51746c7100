"""The answers in the documents are what the commands answer, on a year made just now."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.year import year

__all__ = ["year"]
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "analysts.md"


def test_every_answer_in_the_documents_is_today_s(year: Path, tmp_path: Path) -> None:
    shutil.copytree(year, tmp_path / "cs-history")  # what is asked may note that it was

    compared = subprocess.run(
        [sys.executable, str(ROOT / "dev" / "answers.py"), str(tmp_path), str(PAGE)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert compared.returncode == 0, compared.stdout + compared.stderr
