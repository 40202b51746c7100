"""Where a cluster is, for whoever wants to call it or to operate it."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from system.cluster.cluster import Cluster

#: Searched in the line to try: of the bundled world.
BRAND = "Veltrana"


def addresses(cluster: Cluster, key: str) -> dict[str, Any]:
    """Return every address of *cluster*, and the secret *key*, for a program."""
    return {
        "urls": cluster.urls,
        "admin": cluster.admin_url,
        "key": key,
        "readyz": {
            name: f"http://127.0.0.1:{port}/readyz"
            for name, port in cluster.admin_ports.items()
        },
        "environment": operators(cluster),
        "folder": str(cluster.folder),
        "pids": {name: role.pid for name, role in cluster.roles.items()},
    }


def told(cluster: Cluster, key: str, brand: str = BRAND) -> str:
    """Return the addresses of *cluster* and how to call it, for a person."""
    file = write_environment(cluster)
    body = shlex.quote(json.dumps({"brand": brand, "wait": True}))
    others = "".join(f"     {url}\n" for url in cluster.urls[1:])
    return (
        f"URL  {cluster.urls[0]}\n{others}Key  {key}\n"
        f"Health, clock of the sandbox  {cluster.admin_url}/readyz, /sandbox/clock\n"
        f"Log lines of each process  {cluster.folder}/*.log\n\n"
        f"curl -s {cluster.urls[0]}/contacts -H 'Authorization: Bearer {key}' \\\n"
        f"  -H 'Content-Type: application/json' -d {body}\n\n"
        f"For the operator's commands, in another terminal:  . {file}\n"
        "  .venv/bin/cs keys list; .venv/bin/cs brands list; .venv/bin/cs log verify\n"
    )


def operators(cluster: Cluster) -> Mapping[str, str]:
    """Return the settings that the operator's commands take from the environment."""
    return {k: v for k, v in cluster.environment.items() if k.startswith("CS_")}


def write_environment(cluster: Cluster) -> Path:
    """Write `operators` as a file that a shell can read; return it."""
    file = cluster.folder / "operator.env"
    lines = (f"export {k}={shlex.quote(v)}\n" for k, v in operators(cluster).items())
    file.write_text("".join(lines))
    return file
