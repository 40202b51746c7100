"""The suite notices what is broken: each broken server turns the test named for it red."""

from collections.abc import Iterator

import pytest

from conformance.broken_servers import BROKEN
from conformance.broken_service import SOUND, Broken, broken_service

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broken]:
    with broken_service(tmp_path_factory.mktemp("broken")) as servers:
        yield servers


def test_every_test_that_is_named_is_green_without_a_fault(broken: Broken) -> None:
    assert broken.red(SOUND, *sorted({server.test for server in BROKEN.values()})) == []


@pytest.mark.parametrize("server", BROKEN)
def test_a_broken_server_turns_its_test_red(broken: Broken, server: str) -> None:
    test = BROKEN[server].test

    assert any(red.startswith(test) for red in broken.red(server, test))
