from collections.abc import Iterator

import pytest

from deploy.databases import Databases, running_databases


@pytest.fixture(scope="module")
def databases() -> Iterator[Databases]:
    """Both servers of compose.yaml, with users and passwords, and nothing in them."""
    with running_databases() as databases:
        yield databases
