"""What schemathesis has to know about this service; loaded by its own process.

`CS_FUZZ_KEYS` names a file of API keys, one a line.  Each call has one of its own, so that no
limit and no earlier `Idempotency-Key` answers in place of what is tried; a search is read with
the key that made it.
"""

import os
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import strategies as st

_labels = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
_ends = st.sampled_from(["", "/", "/shop?a=b#c", ":443", "."])
_schemes = st.sampled_from(["", "http://", "HTTPS://", "https://www."])
_suffixes = st.sampled_from(["example", "test", "co.uk", "de", "xn--p1ai"])
schemathesis.openapi.format(
    "domain-or-url", st.builds("{}{}.{}{}".format, _schemes, _labels, _suffixes, _ends)
)

_keys = iter(Path(os.environ["CS_FUZZ_KEYS"]).read_text().split())
_made_by: dict[str, str] = {}


@schemathesis.auth(refresh_interval=None)
class OwnKey:
    """Sends a key of its own with each call that needs one."""

    def get(self, case: Any, _context: Any) -> str:
        search = str((case.path_parameters or {}).get("id"))
        return _made_by.get(search) or next(_keys)

    def set(self, case: Any, data: str, _context: Any) -> None:
        case.headers = {**(case.headers or {}), "Authorization": f"Bearer {data}"}


@schemathesis.hook
def after_call(_context: Any, case: Any, response: Any) -> None:
    """Note which key made a search."""
    if response.status_code in {200, 202} and case.method.upper() == "POST":
        sent = response.request.headers["Authorization"]
        _made_by[response.json()["id"]] = str(sent).partition(" ")[2]
