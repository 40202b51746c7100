"""Files of bounces as sending tools and mail servers write them, whole and damaged."""

import base64
import gzip
import json
import quopri
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.mail.bounce import Bounce, BounceKind, ToolWord, bounce_meaning
from cs.operations.bounces import reading
from cs.operations.bounces.reading import (
    READ_BYTES,
    Unproven,
    bounces_of,
    read_bounces,
    read_sent,
    rows_in,
    sent_to,
)
from cs.sources.tables.table_file import BadFile
from harness.every_row import check_every

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
AT = datetime(2026, 5, 30, 10, tzinfo=UTC)
JO = "jo.lane@acme.test"
ID = "<1@sender.test>"
#: The message that `REPORT` and `report` return was sent to these.
SENT = {sent_to(ID, to) for to in (JO, "full@acme.test")}

#: A report as Postfix sends it (RFC 3464), the mail that it is about cut.
REPORT = f"""\
Date: Sat, 30 May 2026 12:00:00 +0200
From: MAILER-DAEMON@mail.sender.test
To: news@sender.test
Subject: Undelivered Mail Returned to Sender
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b1"

--b1
Content-Type: text/plain

I'm sorry to have to inform you that your message could not be delivered.

--b1
Content-Type: message/delivery-status

Reporting-MTA: dns; mail.sender.test
Arrival-Date: Sat, 30 May 2026 11:59:58 +0200

Final-Recipient: rfc822; {JO}
Original-Recipient: rfc822;{JO}
Action: failed
Status: 5.1.1
Remote-MTA: dns; mx.acme.test
Diagnostic-Code: smtp; 550 5.1.1 <{JO}>: Recipient address rejected:
    User unknown in virtual mailbox table

Final-Recipient: rfc822; full@acme.test
Action: delayed
Status: 4.2.2
Diagnostic-Code: smtp; 452 4.2.2 mailbox full

Final-Recipient: rfc822; fine@acme.test
Action: relayed
Status: 2.0.0

--b1
Content-Type: message/rfc822

Message-ID: <1@sender.test>
Subject: Hello

--b1--
"""
SENDGRID = [
    {
        "email": JO,
        "timestamp": 1780135200,
        "event": "bounce",
        "type": "bounce",
        "status": "5.1.1",
        "reason": "550 5.1.1 user unknown",
        "bounce_classification": "Invalid Address",
        "sg_event_id": "x",
    },
    {"email": JO, "timestamp": 1780135200, "event": "bounce", "type": "blocked"},
    {"email": JO, "timestamp": 1780135200, "event": "deferred", "response": "451 4.7.1 later"},
    {"email": JO, "timestamp": 1780135200, "event": "delivered", "response": "250 OK"},
    {
        "email": JO,
        "timestamp": 1780135200,
        "event": "dropped",
        "reason": "Bounced Address",
    },
]


def read(path: Path) -> list[Any]:
    return [row for _, row in read_bounces(path, NOW, SENT).rows]


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def kinds(rows: list[Any]) -> list[Any]:
    """Return what follows from each bounce; of any other row what it is."""
    return [bounce_meaning(r).kind.value if isinstance(r, Bounce) else r for r in rows]


GONE, LATER, OTHER = (kind.value for kind in BounceKind)


def test_a_table_with_any_of_the_usual_columns(tmp_path: Path) -> None:
    heads = [
        ("email", "type", "status", "diagnostic", "time"),
        ("E-Mail", "Bounce Type", "DSN-Status", "SMTP Response", "Bounced At"),
        ("rcpt", "bounceCat", "dsnStatus", "dsnDiag", "timeLogged"),
        ("Recipient", "Severity", "Enhanced Code", "Reason", "date"),
    ]
    for n, head in enumerate(heads):
        line = f'"{JO}",hard,5.1.1,"550 5.1.1 no, none","Sat, 30 May 2026 10:00:00 +0000"'
        file = read_bounces(written(tmp_path, f"{n}.csv", ",".join(head) + f"\n{line}\n"), NOW)

        assert file.columns == dict(
            zip(
                ("address", "class" if n == 2 else "type", "status", "diagnostic", "at"),
                head,
                strict=True,
            )
        )
        assert [row for _, row in file.rows] == [
            Bounce(
                address=JO,
                at=AT,
                status="5.1.1",
                diagnostic="550 5.1.1 no, none",
                tool_word=ToolWord.HARD,
            )
        ]


def test_forms_are_reported_by_their_names(tmp_path: Path) -> None:
    table = f"email\tcode\n{JO}\t550 5.1.1\n"
    lines = "".join(json.dumps(each) + "\n" for each in SENDGRID)
    box = f"From a@b Sat May 30\n{REPORT}\nFrom c@d Sat May 30\n{REPORT}"
    cases: list[tuple[str, str | bytes, list[Any]]] = [
        ("b.tsv", table, [GONE]),
        ("unnamed-table", table, [GONE]),
        ("b.jsonl", lines, [GONE, OTHER, LATER, None, None]),
        ("b.eml", REPORT, [GONE, LATER, None]),
        ("b.mbox", box, [GONE, LATER, None] * 2),
    ]
    for name, text, expected in cases:
        assert kinds(read(written(tmp_path, name, text))) == expected, name
        data = text if isinstance(text, bytes) else text.encode()
        packed = written(tmp_path, f"{name}.gz", gzip.compress(data))
        assert kinds(read(packed)) == expected, f"{name}.gz"
    for name in ("b.eml", "b.mbox"):
        with pytest.raises(BadFile, match="--sent"):  # anybody can forge them
            read_bounces(tmp_path / name, NOW)


def report(status: str, *, encoding: str = "7bit", kind: str = "delivery-status") -> bytes:
    """Return a report whose part of that *kind* is *status*, sent on 30 May at 10:00 UTC."""
    data = status.encode()
    if encoding == "base64":
        data = base64.encodebytes(data)
    elif encoding == "quoted-printable":
        data = quopri.encodestring(data)
    head = (
        "Date: Sat, 30 May 2026 12:00:00 +0200\nMIME-Version: 1.0\n"
        'Content-Type: multipart/report; report-type=delivery-status; boundary="b1"\n\n'
        "--b1\n\nIt could not be delivered.\n\n--b1\n"
        f"Content-Type: message/{kind}\nContent-Transfer-Encoding: {encoding}\n\n"
    )
    returned = f"\n--b1\nContent-Type: text/rfc822-headers\n\nMessage-ID: {ID}\n\n--b1--\n"
    return head.encode() + data + returned.encode()


ABOUT = "Reporting-MTA: dns; mail.sender.test\nArrival-Date: Sat, 30 May 2026 09:00:00 +0000\n"
FAILED = f"Final-Recipient: rfc822; {JO}\nAction: failed\nStatus: 5.1.1\n"
LAST = "Last-Attempt-Date: Sat, 30 May 2026 09:30:00 +0000\n"
ATTEMPT, ARRIVAL = AT.replace(hour=9, minute=30), AT.replace(hour=9)
TEXT = f"{ABOUT}\n{FAILED}"

#: Shapes of RFC 3464, what came of each: (kind, status, time) of each recipient.
SHAPES: list[tuple[str, bytes, list[tuple[str | None, str | None, datetime | None]]]] = [
    ("2.3: a recipient", report(TEXT), [(GONE, "5.1.1", AT)]),
    ("base64", report(TEXT, encoding="base64"), [(GONE, "5.1.1", AT)]),
    ("quoted-printable", report(TEXT, encoding="quoted-printable"), [(GONE, "5.1.1", AT)]),
    ("RFC 6533: in UTF-8", report(TEXT, kind="global-delivery-status"), [(GONE, "5.1.1", AT)]),
    ("CRLF", report(TEXT).replace(b"\n", b"\r\n"), [(GONE, "5.1.1", AT)]),
    ("lines of blanks between", report(f"{ABOUT} \n\t\n\n{FAILED}"), [(GONE, "5.1.1", AT)]),
    ("2.3.7: the last attempt", report(TEXT + LAST), [(GONE, "5.1.1", ATTEMPT)]),
    (
        "a last attempt that is no time",
        report(TEXT + "Last-Attempt-Date: yesterday\n"),
        [(GONE, "5.1.1", AT)],
    ),
    (
        "a Date that is no time: 2.2.5, its arrival",
        report(TEXT).replace(b"Sat, 30 May 2026 12:00:00 +0200", b"no day at all"),
        [(GONE, "5.1.1", ARRIVAL)],
    ),
    (
        "a Date that is still to come",
        report(TEXT).replace(b"30 May 2026 12", b"30 May 2031 12"),
        [(GONE, "5.1.1", ARRIVAL)],
    ),
    (
        "no time at all",
        report(TEXT.replace("Arrival-Date: Sat, 30", "Arrival-Date: 99")).replace(
            b"Date: Sat, 30 May 2026 12:00:00 +0200\n", b""
        ),
        [(GONE, "5.1.1", None)],
    ),
    (
        "2.3.4: a status with a comment",
        report(TEXT.replace("5.1.1", "5.0.0 (permanent failure)")),
        [(OTHER, "5.0.0", AT)],
    ),
    (
        "2.3.6: what the server said decides",
        report(TEXT.replace("5.1.1", "5.0.0") + "Diagnostic-Code: smtp; 550 user unknown\n"),
        [(GONE, "5.0.0", AT)],
    ),
    ("2.3.3: delayed", report(TEXT.replace("failed", "delayed")), [(LATER, "4.0.0", AT)]),
    (
        "several recipients, one delivered",
        report(f"{TEXT}\n{FAILED.replace('failed', 'delivered')}\n{FAILED}"),
        [(GONE, "5.1.1", AT), (None, None, None), (GONE, "5.1.1", AT)],
    ),
    (
        "2.3.2: the address that was written to",
        report(TEXT.replace(JO, "other@acme.test") + f"Original-Recipient: rfc822;{JO}\n"),
        [(GONE, "5.1.1", AT)],
    ),
]


def test_shapes_of_delivery_status_mails() -> None:
    def found(row: Any) -> Any:
        if row is None:
            return (None, None, None)
        if isinstance(row, str):
            return row
        assert row.address == JO
        return (bounce_meaning(row).kind.value, row.status, row.at)

    def check(shape: tuple[str, bytes, list[Any]]) -> None:
        what, mail, expected = shape
        assert [found(row) for row in bounces_of(mail, NOW, SENT)] == expected, what

    check_every(SHAPES, check)


#: What a report returns, and whether that proves a bounce of `JO`.
PROOFS: list[tuple[str, str, str, bool]] = [
    ("the header", "text/rfc822-headers", f"Message-ID: {ID}\n", True),
    ("the message", "message/rfc822", f"Subject: x\nMessage-ID: {ID}\n\nHi\n", True),
    ("RFC 6533", "message/global-headers", f"Message-ID: {ID}\n", True),
    ("folded, in other case", "message/rfc822", f"message-id:\n {ID}\n", True),
    ("sent to another", "message/rfc822", "Message-ID: <2@sender.test>\n", False),
    ("never sent", "message/rfc822", "Message-ID: <3@sender.test>\n", False),
    ("an empty ID", "message/rfc822", "Message-ID: <>\n", False),
    ("no ID", "message/rfc822", "Subject: x\n", False),
    ("only in the body", "message/rfc822", f"Subject: x\n\nMessage-ID: {ID}\n", False),
    ("in another part", "text/plain", f"Message-ID: {ID}\n", False),
]


def test_a_report_counts_if_it_returns_a_message_that_was_sent_to_that_recipient() -> None:
    sent = {
        sent_to(ID, JO.upper()),
        sent_to("<2@sender.test>", "ben@acme.test"),
        sent_to("<>", JO),
    }

    def check(proof: tuple[str, str, str, bool]) -> None:
        _, kind, returned, counts = proof
        mail = report(TEXT).replace(
            f"Content-Type: text/rfc822-headers\n\nMessage-ID: {ID}\n".encode(),
            f"Content-Type: {kind}\n\n{returned}".encode(),
        )
        (row,) = bounces_of(mail, NOW, sent)
        assert isinstance(row, Bounce if counts else Unproven)

    check_every(PROOFS, check)


@given(st.text(), st.sampled_from(["Message-ID", "In-Reply-To", "X-Original-Message-ID"]))
def test_no_report_counts_without_a_message_that_was_sent(id_: str, field: str) -> None:
    forged = report(TEXT).replace(f"Message-ID: {ID}".encode(), f"{field}: {id_}".encode())

    found = list(bounces_of(forged, NOW, {sent_to(ID, JO)}))

    assert not any(isinstance(row, Bounce) for row in found)


def test_messages_that_were_sent_are_read_from_a_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in (
        f"Message-ID,Recipient\n{ID},{JO}\n\n",
        f"message-id;to\r\n{ID};{JO}\r\n",
        f'recipient\tmessage_id\n"<{JO}>"\t"1@sender.test"\n',
        json.dumps({"messageId": ID, "email": JO}),
    ):
        sent = read_sent(written(tmp_path, "sent", text))
        assert sent == {sent_to(ID, JO)}, text
    head = "message-id,recipient\n"
    monkeypatch.setattr(reading, "MOST_SENT", 2)
    for text, why in (
        (f"{ID},{JO}\n", "lacks columns message-id and recipient"),
        (f"{head}{ID}\n", "line 2 is not `message-id,recipient`"),
        (f"{head}{ID},{JO},yes\n", "line 2 is not `message-id,recipient`"),
        (head + f"{ID},{JO}\n" * 3, "more than 2 rows"),
    ):
        with pytest.raises(BadFile, match=why):
            read_sent(written(tmp_path, "sent.csv", text))


@given(st.binary(max_size=400))
def test_any_bytes_of_a_mail_are_read_to_an_end(data: bytes) -> None:
    list(bounces_of(data, NOW, SENT))
    list(bounces_of(REPORT.encode().replace(b"failed", data[:40]), NOW, SENT))


json_values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "email",
                    "bounces",
                    "type",
                    "time",
                    "event",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(json_values)
def test_any_json_is_rows_or_refused(value: Any) -> None:
    try:
        rows = list(rows_in(json.dumps(value).encode(), NOW))
    except ValueError:
        return
    assert all(row is None or isinstance(row, str | Bounce) for row in rows)


def test_bad_rows_name_no_address_and_leave_the_others_alone(tmp_path: Path) -> None:
    rows = [
        ('"",hard,', "no e-mail address"),
        ('"jo lane at acme.test",hard,', "no e-mail address"),
        (f"{JO},hard,jo lane since may", "time is no time: write it as"),
        (f"{JO},hard,2031-01-01T00:00:00Z", "still to come"),
        (f"{JO},hard,nan", "time"),
        (f"{JO},hard,1e300", "time"),
        (f"{JO},hard,0001-01-01T00:00:00+05:00", "time is no time"),
    ]
    text = "email,type,time\n" + "".join(f"{row}\n" for row, _ in rows)
    found = read(written(tmp_path, "b.csv", text + f"{JO},hard,\n"))

    for told, (_, expected) in zip(found, rows, strict=False):
        assert isinstance(told, str)
        assert expected in told
        assert "jo" not in told
    assert kinds(found[len(rows) :]) == [GONE]

    good = json.dumps({"email": JO, "status": "5.1.1"})
    lines = read(written(tmp_path, "a.jsonl", f"{{\n5\n{'[' * 9_000}\n{good}\n"))
    long = f"From a\nSubject: x\n\n{'y' * 900_000}\n\nFrom b\n{REPORT}"
    mails = read(written(tmp_path, "b.mbox", f"From a\nSubject: no report\n\nHi\n\n{long}"))
    assert [isinstance(each, str) for each in lines] == [True, True, True, False]
    assert [isinstance(each, str) for each in mails] == [True, True, False, False, False]


def test_every_intake_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_ROWS", 2)
    monkeypatch.setattr(reading, "MOST_BYTES", 3 << 20)
    cases: list[tuple[str, str | bytes, str]] = [
        ("a.csv", "name,city\nJo,Oslo\n", "lacks a column email"),
        ("b.csv", "", "empty"),
        ("g.csv.gz", b"no gzip", "gzip"),
        ("h.csv", f"email\n{JO}\n{JO}\n{JO}\n", "more than 2 rows"),
        ("i.mbox", "From a\n" + "x\n" * (2 << 20), "more than 3 MiB"),
    ]
    for name, text, expected in cases:
        with pytest.raises(BadFile, match=f"{name}:? .*({expected})"):
            read(written(tmp_path, name, text))
    with pytest.raises(BadFile, match="No such file"):
        read_bounces(tmp_path / "none.csv", NOW)

    parts = REPORT.replace("--b1--", "--b1\n\nmore\n\n" * 20 + "--b1--")
    assert "more than 20 parts" in str(list(bounces_of(parts.encode(), NOW, SENT)))
    many = list(bounces_of(report(f"{ABOUT}\n" + f"{FAILED}\n" * 1_200), NOW, SENT))
    assert (len(many), many[-1]) == (1_001, "it is about more than 1000 recipients")
    long = REPORT.replace("Subject: Hello", f"Subject: Hello\n\n{'x' * 76}\n" * READ_BYTES)
    found = list(bounces_of(long[: 2 * READ_BYTES].encode(), NOW, SENT))
    assert kinds(found) == [GONE, LATER, None], "of a long mail its beginning counts"


def test_that_mail_bounced_says_not_that_it_did_for_good() -> None:
    bounced = {"event": "bounce"}
    cases: list[tuple[dict[str, Any], str]] = [
        (bounced, OTHER),
        (bounced | {"type": "bounce"}, GONE),
        (bounced | {"type": "bounce", "status": ""}, GONE),
        (bounced | {"type": "bounce", "bounce_classification": "Technical"}, OTHER),
        (bounced | {"type": "bounce", "bounce_classification": "Unclassified"}, OTHER),
        (bounced | {"type": "hard"}, GONE),
    ]
    for row, kind in cases:
        (bounce,) = rows_in(json.dumps([{"email": JO} | row]).encode(), NOW)
        assert kinds([bounce]) == [kind], row
