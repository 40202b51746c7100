"""Lists and files that cost far more to read than to write: bodies of HTTP, files of commands.

While a body is read the service answers others.  A command refuses a file within a few seconds
of processor time and in bounded memory, or reads all of it in that.
"""

import gzip
import json
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from cli.command import environment
from harness.served import Served, served
from security.responsiveness import answering

pytestmark = pytest.mark.slow

MIB = 1 << 20
#: Processor time and memory of a command, its start included.
CPU_S = 15
MEMORY_MIB = 400
#: A mailbox of the bundled world, verified once its brand was searched for.
MAILBOX = "amara.okafor@veltrana.test"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service in which a search has verified `MAILBOX`."""
    with served(tmp_path_factory.mktemp("intakes") / "data") as running:
        with running.client(running.new_key()) as client:
            sought = client.post("/contacts", json={"brand": "Veltrana", "wait": True})
            sought.raise_for_status()
        yield running


def words(number: int) -> dict[str, str]:
    output = "550 5.1.1 no such user " * 40
    return {"email": f"a{number}@b{number}.test", "diagnostic": output}


#: Bodies of just under 1 MiB, and the status that they are answered with.
BODIES: dict[str, tuple[bytes, int]] = {
    "objects": (b"[" + b"{}," * 349_000 + b"{}]", 400),
    "scalars": (b"[" + b"1," * 520_000 + b"1]", 400),
    "an object of lists": (b'{"bounces":[' + b"[]," * 349_000 + b"[]]}", 400),
    "depth": (b"[" * MIB, 400),
    "depth in a row": (b'[{"email":' + b"[" * 900 + b"]" * 900 + b"}]", 200),
    "fields": (json.dumps([{f"k{n}": 1 for n in range(80_000)}]).encode(), 200),
    "words of servers": (json.dumps([words(n) for n in range(1_000)]).encode(), 200),
    "one mailbox": (json.dumps([{"email": MAILBOX, "type": "soft"}] * 1_000).encode(), 200),
}


def test_no_body_of_bounces_stops_the_ports(service: Served) -> None:
    for name, (body, status) in BODIES.items():
        # A busy machine is slow once, a body that stops a port each time.
        slow = slow_ports(service, body, status) and slow_ports(service, body, status)
        assert not slow, name


def slow_ports(service: Served, body: bytes, status: int) -> list[str]:
    """Return the ports that are slow while *body* is sent, which is answered with *status*."""
    many = [service] * (4 if status == 400 else 1)
    with answering(service) as answers, ThreadPoolExecutor(4) as callers:
        posted = list(callers.map(post, many, [body] * len(many)))
    assert {each.status_code for each in posted} == {status}
    assert len(posted[0].content) < 200_000
    return answers.slow


def post(service: Served, body: bytes) -> httpx.Response:
    return httpx.post(
        f"{service.admin_url}/mailboxes/bounced",
        content=body,
        headers={"Content-Type": "application/json"},
        trust_env=False,
        timeout=300,
    )


def test_no_body_of_a_search_or_of_the_clock_stops_the_ports(service: Served) -> None:
    size = 16 * 1024 - 40
    values = [
        b"a" * size,
        b"a." * (size // 2),
        "\u0301".encode() * (size // 2),
        b"xn--a." * 2_700,
    ]
    bodies = [b'{"brand":"%s","domain":"%s"}' % (each[:8_000], each[:8_000]) for each in values]
    bodies += [b"[" * size, b'{"x":' * (size // 5), b'{"brand":' + b"9" * size + b"}"]
    with service.client(service.new_key()) as client:
        json_type = {"Content-Type": "application/json"}
        with answering(service) as answers:
            for body in bodies * 5:
                answer = client.post("/contacts", content=body, headers=json_type)
                assert answer.status_code in {400, 429}
            for body in (b"[" * 1_000, b'{"advance":' + b"9" * 1_000 + b"}"):
                moved = httpx.post(
                    service.clock_url, content=body, headers=json_type, trust_env=False
                )
                assert moved.status_code == 400
        answers.assert_fast()


@dataclass(frozen=True)
class Attack:
    """A file for a command.

    Attributes:
        command: That reads it; FILE stands for it.
        name: Of the file.
        content: Makes it.
        output: A part of what the command prints.
    """

    command: str
    name: str
    content: Callable[[], bytes]
    output: str


BOUNCED = "mailboxes bounced FILE --dry-run --sent SENT"
PEOPLE = "directory import FILE --dry-run"
COMPANIES = "brands import FILE --dry-run"
SEARCH = "search --file FILE --key x --url http://127.0.0.1:9/v1"
#: Opens a quote whether or not one is open.
REOPENED = b'a","' + b"b" * 1_290 + b"\n"
STATUS = b"Content-Type: message/delivery-status\n\n"


def multiparts() -> bytes:
    parts = b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n'
    return b"".join(parts % (n, n) for n in range(200)) + STATUS + b"\n" * 4 * MIB


#: A list of a million structs, in Thrift's compact protocol.
MILLION = b"\x19\xfc\xc0\x84\x3d"
#: Version, a schema of one text, no row; then row groups, of which the first has columns.
FOOTER = (
    b"\x15\x02\x19\x2c\x48\x04root\x15\x02\x00\x15\x0c\x25\x02\x18\x04name\x00\x16\x00"
    + MILLION
    + MILLION
)


def lying_parquet() -> bytes:
    """Return a file whose footer claims a million columns, in fewer than 100 bytes."""
    return b"PAR1" + FOOTER + struct.pack("<I", len(FOOTER)) + b"PAR1"


#: Runs a command, and prints its exit code and the peak memory in KiB of it and its processes.
#: A process starts with the peak of the one that forked it, so a small one forks.
MEASURED = """
import resource, subprocess, sys
code = subprocess.run([sys.executable, "-m", "cs", *sys.argv[1:]], stdout=sys.stderr).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_a_parquet_file_that_claims_a_million_columns_is_refused_in_bounded_memory(
    tmp_path: Path,
) -> None:
    """Without a limit of the test's own, which would hide the limit of the command."""
    path = tmp_path / "people.parquet"
    path.write_bytes(lying_parquet())

    ended = subprocess.run(
        [sys.executable, "-c", MEASURED, "directory", "import", str(path), "--dry-run"],
        capture_output=True,
        text=True,
        env=environment(CS_DATA_DIR=str(tmp_path / "data")),
        check=False,
    )

    code, peak_kib = map(int, ended.stdout.split())
    assert code == 1
    assert ended.stderr.startswith(f"cs: {path}: cannot be read within 640 MiB")
    assert ended.stderr.count("\n") == 1
    assert peak_kib < 640 * 1024


ATTACKS = [
    Attack(BOUNCED, "nested.eml", multiparts, "more than 20 parts"),
    Attack(
        BOUNCED,
        "parts.eml",
        lambda: b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\n" * MIB + STATUS,
        "no delivery status",
    ),
    Attack(
        BOUNCED,
        "parameters.eml",
        lambda: b"Content-Type: multipart/report;" + b'a="b;";' * 600_000 + b"\n\n" + STATUS,
        "no delivery status",
    ),
    Attack(BOUNCED, "a.mbox", lambda: b"From a\n\n" * (MIB // 2), "nearly all"),
    Attack(BOUNCED, "lines.mbox.gz", lambda: gzip.compress(b"\n" * 80 * MIB), "lines: split"),
    Attack(BOUNCED, "rows.csv", lambda: b"email,type\n" + b"x,\n" * MIB, "nearly all"),
    Attack(
        BOUNCED, "quotes.csv", lambda: b"email,type\n" + REOPENED * 3_000, "a quote is opened"
    ),
    Attack(PEOPLE, "quotes.csv", lambda: b"name,company,email\n" + REOPENED * 3_000, "refused"),
    Attack(PEOPLE, "line.jsonl.gz", lambda: gzip.compress(b"x" * 256 * MIB), "MiB: split"),
    Attack(COMPANIES, "line.csv", lambda: b"name\n" + b"x" * 128 * MIB, "characters"),
    Attack(
        COMPANIES, "lines.csv.gz", lambda: gzip.compress(b"name\n" + b"\n" * 80 * MIB), "lines"
    ),
    Attack(
        SEARCH,
        "rows.csv",
        lambda: b"".join(b"%d\n" % n for n in range(1_500_000)),
        "larger than 4 MiB",
    ),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda each: f"{each.command}-{each.name}")
def test_a_file_costs_a_command_seconds_and_bounded_memory(
    attack: Attack, service: Served, tmp_path: Path
) -> None:
    file, sent = tmp_path / attack.name, tmp_path / "sent.csv"
    file.write_bytes(attack.content())
    sent.write_text(f"message-id,recipient\n<1@ops.test>,{MAILBOX}\n")
    places = {"FILE": str(file), "SENT": str(sent)}
    reads_data = attack.command in {BOUNCED, PEOPLE, COMPANIES}
    data = [f"--data-dir={service.folder}"] if reads_data else []

    output = limited([*(places.get(w, w) for w in attack.command.split()), *data])

    assert attack.output in output
    assert len(output) < 10_000, "what it says of a bad file is bounded, too"


def limited(arguments: Sequence[str]) -> str:
    """Run ``cs`` in `CPU_S` of processor time and `MEMORY_MIB`; return what it prints."""
    limits = f'ulimit -t {CPU_S}; ulimit -d {MEMORY_MIB * 1024}; exec "$@"'
    done = subprocess.run(
        ["sh", "-c", limits, "sh", sys.executable, "-m", "cs", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(),
        check=False,
    )
    output = done.stdout.decode()
    assert done.returncode in {0, 1, 2}, f"it ended by {done.returncode}: {output[-300:]}"
    return output
