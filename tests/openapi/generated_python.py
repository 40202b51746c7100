"""A Python client that openapi-python-client makes of the description."""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.servers.missing import Missing
from openapi.node_tools import DOCUMENT

#: The name of the package it makes.
CLIENT = "generated_contact_search"
#: The generator names a variable after the class: `error`, as the one field of `Error` is.
_CONFIG = """
post_hooks: []
class_overrides:
  Error: {class_name: ErrorAnswer, module_name: error_answer}
"""


@contextmanager
def generated_client(folder: Path) -> Iterator[Path]:
    """Make the client in *folder* and return the folder of its package.

    Raises:
        Missing: The generator is not installed.
    """
    if importlib.util.find_spec("openapi_python_client") is None:
        raise Missing("openapi-python-client is not installed")
    package = folder / CLIENT
    config = folder / "config.yaml"
    config.write_text(_CONFIG)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "openapi_python_client", "generate", "--meta=none"),
            *(f"--path={DOCUMENT}", f"--output-path={package}", f"--config={config}"),
            "--fail-on-warning",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    yield package
