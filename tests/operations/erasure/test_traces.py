from base64 import b64encode
from pathlib import Path

import pytest

from operations.erasure.traces import traces

NAME = "Zoë Quillfeather"


@pytest.mark.parametrize(
    "data",
    [
        NAME.encode(),
        NAME.upper().encode(),
        NAME.encode("utf-16"),
        NAME.encode().hex().encode(),
        b"{" + b64encode(f'{{"full_name":"{NAME}"}}'.encode()) + b"}",
        b64encode(f"1{NAME}2".encode()),
        b64encode(f"12{NAME}3".encode()),
    ],
    ids=["text", "upper case", "utf-16", "hex", "base64", "base64 + 1", "base64 + 2"],
)
def test_somebody_is_found_however_they_are_written(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "within").mkdir()
    (tmp_path / "within" / "log.db").write_bytes(b"\0\xff" + data + b"\0")

    assert traces(tmp_path, [NAME, "Bo Thistlewood"]) == [("within/log.db", NAME)]
