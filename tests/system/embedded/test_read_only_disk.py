"""A disk that becomes read-only under `cs serve`: reads go on, nothing is lost, it recovers.

Run as a program, in a mount namespace of its own, this file has a disk that the kernel makes
read-only because of an error, as it does with a real one.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.command import ran
from harness.served import Served, served

pytestmark = pytest.mark.slow

#: Lets root have a file system of its own report an error (ext4, Linux 4.x and later).
_ERRORS = "/sys/fs/ext4/{}/trigger_fs_error"
_IN_NAMESPACE = ("unshare", "--mount", "--propagation=private")
_USER_NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")


def _works(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def test_calls_that_store_are_refused_until_the_files_can_be_written_again(
    tmp_path: Path,
) -> None:
    """No write of the process succeeds: SQLite has the error of a read-only disk."""
    with served(tmp_path / "data") as service:
        before = resource.prlimit(service.pid, resource.RLIMIT_FSIZE)

        def read_only() -> None:
            resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (1, before[1]))

        def writable() -> None:
            resource.prlimit(service.pid, resource.RLIMIT_FSIZE, before)

        reported = _goes_on(service, read_only, writable)
    _check(reported)


def test_a_start_on_a_read_only_disk_says_what_to_do(tmp_path: Path) -> None:
    if not _works(*_USER_NAMESPACE, "true"):
        pytest.skip("no user namespaces, in which a folder can be mounted read-only")
    folder = tmp_path / "data"
    assert ran("keys", "create", "--quota=1", f"--data-dir={folder}").code == 0
    mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    serve = ("serve", "--port=0", "--admin-port=0", f"--data-dir={folder}")
    for words in (serve, (*serve, "--sandbox"), ("status", f"--data-dir={folder}")):
        done = subprocess.run(
            (*_USER_NAMESPACE, "sh", "-c", mount, folder, sys.executable, "-m", "cs", *words),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 1, done
        assert done.stderr == (
            f"cs: the data folder {folder} cannot be written; nothing is lost; its file system "
            "is read-only: make it writable (the kernel's log may say why it is not), and try "
            "again\n"
        )


def test_an_error_of_the_kernel_loses_nothing(tmp_path: Path) -> None:
    if os.getuid() or not _works(*_IN_NAMESPACE, "losetup", "--find"):
        pytest.skip("wants root and a loop device, for a disk that may fail")
    done = subprocess.run(
        (*_IN_NAMESPACE, sys.executable, __file__, str(tmp_path)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.returncode == 0, done.stderr
    reported = json.loads(done.stdout.splitlines()[-1])
    _check(reported)
    assert "Read-only file system; nothing is lost" in reported["refused_start"]
    assert "Read-only file system; nothing is lost" in reported["status"]
    assert reported["backup"] == 0
    assert reported["stopped"] == 0


def _goes_on(
    service: Served, read_only: Callable[[], None], writable: Callable[[], None]
) -> dict[str, Any]:
    """Call *service* before, while and after its disk cannot be written."""
    key = service.new_key()
    with service.client(key) as client:
        found = _post(client, brand="Veltrana", wait=True)
        running = _post(client, brand="Junimar")["id"]
    read_only()
    with service.client(key) as client:
        refused = [_post(client, brand=brand) for brand in ("Veltrana", "Halden")]
        reads = client.get(f"/searches/{found['id']}").json()
        used = client.get("/usage").json()["used"]
    unready = service.ready_answer()
    metrics = httpx.get(f"{service.admin_url}/metrics", trust_env=False).text
    writable()
    ready = service.ready_answer()
    with service.client(key) as client:
        again = [_post(client, brand=b, wait=True) for b in ("Junimar", "Veltrana", "Halden")]
        running_after = client.get(f"/searches/{running}").json()["status"]
        used_after = client.get("/usage").json()["used"]
        reads_after = client.get(f"/searches/{found['id']}").json()
    verified = ran("log", "verify", "--json", f"--data-dir={service.folder}").rows[-1]
    listed = ran("searches", "list", "--json", f"--data-dir={service.folder}").rows
    return {
        "found": found,
        "refused": refused,
        "reads": reads,
        "used": used,
        "unready": [unready.status_code, unready.json()["log"]],
        "metrics": "cs_ready 0.0" in metrics,
        "ready": ready.status_code,
        "again": again,
        "running": running,
        "running_after": running_after,
        "used_after": used_after,
        "reads_after": reads_after,
        "violations": verified["violations"],
        "listed": len(listed),
    }


def _check(reported: dict[str, Any]) -> None:
    for refused in reported["refused"]:
        assert refused["http"] == 500
        assert refused["error"]["code"] == "server_error"
        assert int(refused["retry_after_header"]) > 0
    assert reported["found"]["status"] == "done"
    assert reported["reads"]["contacts"] == reported["found"]["contacts"]
    assert reported["used"] == 1
    status, why = reported["unready"]
    assert status == 503
    assert "the disk is full or read-only, or has failed" in why
    assert reported["metrics"], "the alert ProcessIsNotReady sees it"
    assert reported["ready"] == 200
    assert [each["status"] for each in reported["again"]] == ["done", "done", "failed"]
    assert reported["running_after"] == "done"
    # The key's second search of a brand that still runs is the first one.
    charged = {reported["running"], *(each["id"] for each in reported["again"][:2])}
    assert reported["used_after"] == 1 + len(charged), "each is charged once"
    assert reported["reads_after"]["contacts"] == reported["found"]["contacts"]
    assert reported["violations"] == 0
    assert reported["listed"] == 2 + len(charged), "of what was refused there is nothing"


def _post(client: httpx.Client, **body: Any) -> dict[str, Any]:
    answer = client.post("/contacts", json=body)
    shown: dict[str, Any] = answer.json()
    header = answer.headers.get("Retry-After")
    return shown | {"http": answer.status_code, "retry_after_header": header}


def _fail_and_repair(place: Path) -> dict[str, Any]:
    image, mount = place / "disk", place / "mounted"
    mount.mkdir()

    def run(*command: object) -> str:
        return subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, check=True
        ).stdout

    run("truncate", "--size=100M", image)
    run("mkfs.ext4", "-q", image)
    run("mount", "-o", "loop,errors=remount-ro", image, mount)
    service = served(mount / "data")
    device = Path(run("findmnt", "--noheadings", "--output=SOURCE", mount).strip()).name
    more: dict[str, Any] = {}

    def read_only() -> None:
        Path(_ERRORS.format(device)).write_text("1")

    def writable() -> None:
        """Repair the file system, for which nothing may run on it."""
        here = f"--data-dir={service.folder}"
        more["backup"] = ran("backup", str(place / "copy"), here).code
        more["status"] = ran("status", here).error()
        more["stopped"] = service.stop()
        words = ("serve", "--sandbox", "--port=0", "--admin-port=0", here)
        more["refused_start"] = ran(*words).error()
        run("umount", mount)
        subprocess.run(("fsck.ext4", "-p", str(image)), capture_output=True, check=False)
        run("mount", "-o", "loop", image, mount)
        service.start()

    try:
        with service:
            return _goes_on(service, read_only, writable) | more
    finally:
        run("umount", mount)


if __name__ == "__main__":
    print(json.dumps(_fail_and_repair(Path(sys.argv[1]))))  # noqa: T201
