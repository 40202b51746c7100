"""Run the two commands of the README on a machine that has nothing but Python and make.

Makes a minimal Debian in a folder (mmdebstrap), gives it python3, python3-venv and make, lays
the committed tree of this checkout in the home of a new account, and runs `make demo` and
`make test` there.  The commands see the files, accounts and processes of that machine only;
the network is this machine's.  A process that is left when a command has ended is a failure.

Needs Linux, root and mmdebstrap (Debian: apt-get install mmdebstrap).  Run by
`make fresh-machine`.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
SUITE = "bookworm"
PACKAGES = "python3,python3-venv,make"
USER = "newcomer"
HOMES = {USER: f"/home/{USER}", "root": "/root"}
FOLDER = "contact-search"
#: The README's first screen.
COMMANDS = ("make demo", "make test")
#: As a login shell of Debian has it.
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
}
CERTIFICATES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "NODE_EXTRA_CA_CERTS")
#: How this machine reaches package indexes, and nothing else of its environment.
NETWORK = (
    *("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
    *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "PIP_DEFAULT_TIMEOUT"),
    *CERTIFICATES,
)
NETWORK_FILES = ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--user", default=USER, choices=HOMES, help="whose commands (%(default)s)"
    )
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("command", nargs="*", default=COMMANDS, help="in place of the two")
    asked = parser.parse_args()
    if asked.inside:
        return ended_inside(asked.inside, asked.user, asked.command[0])
    missing = what_is_missing()
    if missing:
        print(missing)
        return 1
    # Whatever ends this ends the machine: Ctrl-C also in the background, where it is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="cs-fresh-"))
    folder.chmod(0o755)
    try:
        machine = folder / "root"
        made(machine)
        with_the_tree(machine, asked.user)
        return max([ran(machine, asked.user, command) for command in asked.command])
    finally:
        shutil.rmtree(folder)


def what_is_missing() -> str | None:
    if os.geteuid() != 0:
        return "This makes the root folder of another system, which only root may do."
    if shutil.which("mmdebstrap") is None:
        return "mmdebstrap is not here. Debian, Ubuntu: apt-get install mmdebstrap"
    return None


def made(machine: Path) -> None:
    """Install Debian in *machine*, from the package sources of this machine where it is one."""
    print(f"Installing Debian {SUITE} with {PACKAGES} in {machine} ...", flush=True)
    sources = Path("/etc/apt/sources.list.d").glob("debian.sources")
    wanted = ("--quiet", "--variant=minbase", f"--include={PACKAGES}")
    run("mmdebstrap", *wanted, SUITE, machine, *sources)
    run("chroot", machine, "useradd", "--create-home", USER)
    certificates = {os.environ[name] for name in CERTIFICATES if name in os.environ}
    for file in (*NETWORK_FILES, *certificates):
        if Path(file).exists():
            copy = machine / file.removeprefix("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)


def with_the_tree(machine: Path, user: str) -> None:
    """Lay the committed tree of this checkout in the home of *user*."""
    tree = machine / HOMES[user].removeprefix("/") / FOLDER
    tree.mkdir()
    packed = subprocess.Popen(["git", "archive", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE)
    run("tar", "--extract", "--directory", tree, stdin=packed.stdout)
    if packed.wait():
        raise SystemExit("git archive failed; its words are above.")
    run("chroot", machine, "chown", "--recursive", f"{user}:", f"{HOMES[user]}/{FOLDER}")


def ran(machine: Path, user: str, command: str) -> int:
    """Run *command* with mounts and processes of its own; return how it ended."""
    print(f"\n$ {command}   (as {user})", flush=True)
    began = time.monotonic()
    inside = (sys.executable, Path(__file__), "--inside", machine, "--user", user, command)
    space = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--ipc")
    ended = subprocess.run([*space, *inside], check=False).returncode
    print(
        f"$ {command}   ended with {ended} after {time.monotonic() - began:.0f} s", flush=True
    )
    return ended


def ended_inside(machine: Path, user: str, command: str) -> int:
    """As the first process of its name space: run *command* and see what it leaves running."""
    for kind, place, options in (
        ("proc", "proc", "nosuid,noexec,nodev"),
        ("tmpfs", "dev/shm", "nosuid,nodev,mode=1777"),
        ("devpts", "dev/pts", "newinstance,ptmxmode=0666"),
        ("tmpfs", "tmp", "nosuid,nodev,mode=1777"),
    ):
        run("mount", "--types", kind, "--options", options, kind, machine / place)
    known = {name: os.environ[name] for name in NETWORK if name in os.environ}
    shell = ("/bin/sh", "-c", f"cd ~/{FOLDER} && exec {command}")
    child = subprocess.Popen(
        ["chroot", f"--userspec={user}", str(machine), *shell],
        env=ENVIRONMENT | known | {"HOME": HOMES[user], "USER": user},
        stdin=subprocess.DEVNULL,
    )
    status = None
    while status is None:  # every orphan becomes a child of the first process
        pid, how = os.wait()
        if pid == child.pid:
            status = os.waitstatus_to_exitcode(how)
    left = list(running(machine / "proc"))
    for line in left:
        print(f"LEFT RUNNING: {line}", flush=True)
    return 1 if left or status else 0


def running(proc: Path) -> Iterator[str]:
    """Yield the process id and command line of every process but the first."""
    for folder in proc.iterdir():
        if folder.name.isdigit() and folder.name != "1":
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            if words:  # a process that has ended and was not waited for has none
                yield f"{folder.name} {words}"


def run(*command: str | Path, stdin: IO[bytes] | None = None) -> None:
    subprocess.run(command, check=True, stdin=stdin)


if __name__ == "__main__":
    sys.exit(main())
