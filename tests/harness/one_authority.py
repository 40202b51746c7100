"""A pytest plug-in: a client of HTTP opened by a test is opened at once.

Whatever opens one reads the 140 authorities of certifi, 15 to 30 ms of processor, as its TLS
might need them.  Tests open thousands and connect to nobody whom such an authority signed for,
so the processes of tests read one.  Processes that tests start read all.
"""

from collections.abc import Iterator
from pathlib import Path

import certifi
import pytest

_END = "-----END CERTIFICATE-----\n"


@pytest.fixture(scope="session", autouse=True)
def _one_authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    first, end, _ = Path(certifi.where()).read_text().partition(_END)
    file = tmp_path_factory.mktemp("certifi") / "one.pem"
    file.write_text(first + end)
    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(certifi, "where", lambda: str(file))
        yield
