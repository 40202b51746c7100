from pathlib import Path

import pytest

from cli.brand_list.list_desk import Desk
from cli.command import Here


@pytest.fixture
def desk(here: Here, tmp_path: Path) -> Desk:
    return Desk(here, tmp_path)
