"""Make what a release leaves behind: a data folder, or the databases of a cluster.

Speaks only HTTP and `cs`, so that it works with the code of any release: README.md in
this folder says how the files here were made.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

HERE = Path(__file__).parent
#: Brands of the bundled world: two that find people, two that fail, and two whose mail
#: servers make them last longer than the rest of this takes.
FOUND, ERASED_FROM = "Veltrana", "Kestrelle"
FAILED = ("Grimsole", "Nowhere Known Trading")
GREYLISTED, SLOW = "Quellmark", "Junimar"
IDEMPOTENCY = "made-before"
#: These waits are by the clock on the wall, in a program that is run by hand once a release
#: and is no test: an old release has no call that says when every node knows of a pause or
#: of a moved clock, or that a lookup has come to its mail servers.  Both lookups come there
#: well before; the one server says to come back later, the other keeps waiting.
UNTIL_KNOWN_S, UNTIL_VERIFYING_S = 1.0, 2.0
SERVING = re.compile(r"serving (\S+), health at (\S+)/readyz,")

#: Each database and the setting that names it; the keys last: each is there before the
#: event that needs it.
DATABASES = {"service": "POSTGRES", "stages": "STAGES_POSTGRES", "keys": "KEYS_POSTGRES"}

#: Runs ``cs`` with these words and returns what it prints.
Command = Callable[..., str]


def story(url: str, command: Command, move_clock: Callable[[], None]) -> dict[str, Any]:
    """Do to the service at *url* what callers and operators do; return what it answered."""

    def keys(*words: str) -> dict[str, Any]:
        printed: dict[str, Any] = json.loads(command("keys", *words, "--json"))
        return printed

    def call(method: str, path: str, key: str, **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key}", **more.pop("headers", {})}
        return httpx.request(
            method, url + path, headers=headers, timeout=130, trust_env=False, **more
        )

    def search(
        key: str, brand: str, *, wait: bool = True, idempotency: str | None = None
    ) -> dict[str, Any]:
        body = {"brand": brand, "wait": wait}
        headers = {"Idempotency-Key": idempotency} if idempotency else {}
        answer = call("POST", "/contacts", key, json=body, headers=headers)
        record: dict[str, Any] = answer.raise_for_status().json()
        return record

    first, second = keys("create", "--quota=20"), keys("create", "--quota=5")
    revoked = keys("create")
    made = [(first, search(first["key"], FOUND))]
    made.append((first, search(first["key"], ERASED_FROM, idempotency=IDEMPOTENCY)))
    erased = made[-1][1]["contacts"][0]["email"]
    command("people", "erase", f"--email={erased}", "--json")
    made.extend((first, search(first["key"], brand)) for brand in FAILED)
    made.append((second, search(second["key"], FOUND)))
    command("pause", "--json")
    time.sleep(UNTIL_KNOWN_S)
    refused = call("POST", "/contacts", second["key"], json={"brand": "Ivorene"})
    assert refused.status_code == 503, refused.text
    command("resume", "--json")
    keys("grant", second["id"], "7")
    second["key"] = keys("rotate", second["id"])["key"]
    keys("revoke", revoked["id"])
    move_clock()
    time.sleep(UNTIL_KNOWN_S)
    for brand, callers in ((GREYLISTED, (first, second)), (SLOW, (first,))):
        made.extend((key, search(key["key"], brand, wait=False)) for key in callers)
        time.sleep(UNTIL_VERIFYING_S)
    searches = [
        {"key": key["id"], "record": call("GET", f"/searches/{each['id']}", key["key"]).json()}
        for key, each in made
    ]
    return {
        "keys": {key["id"]: key["key"] for key in (first, second)},
        "revoked": revoked["key"],
        "erased": erased,
        "idempotent": {"search": made[1][1]["id"], "key": IDEMPOTENCY},
        "searches": searches,
        "usage": {
            key["id"]: call("GET", "/usage", key["key"]).json() for key in (first, second)
        },
        "left_at": datetime.now(UTC).isoformat(),
    }


def folder(python: str) -> None:
    """Make `folder.tar.gz` and `folder.json` with the ``cs`` of *python*."""
    with tempfile.TemporaryDirectory() as temporary:
        data = Path(temporary) / "data"
        environment = _environment()

        def command(*words: str) -> str:
            return _ran(python, environment, *words, f"--data-dir={data}")

        serve = ("serve", "--sandbox", "--port=0", "--admin-port=0", f"--data-dir={data}")
        with subprocess.Popen(
            [python, "-m", "cs", *serve],
            stderr=subprocess.PIPE,
            text=True,
            env={**environment, "COLUMNS": "400", "CS_LOG_LEVEL": "error"},
        ) as process:
            assert process.stderr is not None
            serving = SERVING.match(process.stderr.readline())
            assert serving is not None
            url, admin = serving.groups()

            def move_clock() -> None:
                body = {"advance": 2 * 3600}
                moved = httpx.post(f"{admin}/sandbox/clock", json=body, timeout=100)
                moved.raise_for_status()

            answers = story(url, command, move_clock)
            process.terminate()
            process.communicate(timeout=30)
            assert process.returncode == 0
        _write("folder", data, answers)


def databases(python: str, addresses: Mapping[str, Any]) -> None:
    """Make `databases.tar.gz` and `.json` of the cluster at *addresses*, which stays."""
    named: Mapping[str, str] = addresses["environment"]
    environment = {**_environment(), **named}

    def command(*words: str) -> str:
        return _ran(python, environment, *words)

    answers = story(addresses["urls"][0], command, lambda: None)
    with tempfile.TemporaryDirectory() as temporary:
        dumps = Path(temporary)
        for store, setting in DATABASES.items():
            words = ("--inserts", "--no-owner", "--no-privileges", named[f"CS_{setting}"])
            sql = subprocess.run(
                ["pg_dump", *words], check=True, capture_output=True, text=True
            )
            (dumps / f"{store}.sql").write_text(_for_any_client(sql.stdout))
        shutil.copy(named["CS_MASTER_KEY_FILE"], dumps / "master.key")
        _write("databases", dumps, answers)


def _for_any_client(sql: str) -> str:
    r"""Leave out what only psql understands: the lines \restrict and \unrestrict."""
    return re.sub(r"^\\(un)?restrict .*\n", "", sql, flags=re.MULTILINE)


def _environment() -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CS_")}
    return {**clean, "CS_OPERATOR": "an-operator"}


def _ran(python: str, environment: Mapping[str, str], *words: str) -> str:
    ran = subprocess.run(
        [python, "-m", "cs", *words],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    return ran.stdout


def _write(name: str, files: Path, answers: Mapping[str, Any]) -> None:
    def nobodys(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        return member

    with tarfile.open(HERE / f"{name}.tar.gz", "w:gz") as archive:
        for file in sorted(files.iterdir()):
            archive.add(file, file.name, filter=nobodys)
    text = json.dumps(answers, indent=1, ensure_ascii=False)
    (HERE / f"{name}.json").write_text(f"{text}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", help="of the release's .venv")
    parser.add_argument("--cluster", type=Path, help="what its `make cluster JSON=1` printed")
    arguments = parser.parse_args()
    if arguments.cluster:
        databases(arguments.python, json.loads(arguments.cluster.read_text()))
    else:
        folder(arguments.python)


if __name__ == "__main__":
    main()
