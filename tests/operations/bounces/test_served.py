"""Bounces imported next to a running service, by command and by HTTP: answers afterwards."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.command import ran
from harness.served import Served, served

pytestmark = pytest.mark.slow

MAILBOX = "amara.okafor@veltrana.test"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("bounced") / "data") as running:
        yield running


def search(client: httpx.Client, brand: str) -> dict[str, Any]:
    answer = client.post("/contacts", json={"brand": brand, "wait": True})
    record: dict[str, Any] = answer.raise_for_status().json()
    return record


def emails(record: dict[str, Any]) -> set[str]:
    return {contact["email"] for contact in record["contacts"]} - {None}


def post(service: Served, body: Any, **headers: str) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx.post(
        f"{service.admin_url}/mailboxes/bounced",
        content=content,
        headers={"Content-Type": "application/json", **headers},
        trust_env=False,
    )


def rows(service: Served, *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in service.command(*words, "--json").splitlines()]


def test_what_came_back_is_returned_no_more_and_the_reports_say_whose_verdict_it_was(
    service: Served, tmp_path: Path
) -> None:
    file = tmp_path / "bounces.csv"
    file.write_text(f"email,type,reason\n{MAILBOX},hard,550 5.1.1 user unknown\n")
    key = service.new_key()
    with service.client(key) as client:
        before = search(client, "Veltrana")
        (dry,) = rows(service, "mailboxes", "bounced", str(file), "--dry-run")
        between = search(client, "Veltrana")
        (message,) = rows(service, "mailboxes", "bounced", str(file))
        (twice,) = rows(service, "mailboxes", "bounced", str(file))
        after = search(client, "Veltrana")

    assert MAILBOX in emails(before) & emails(between)
    counts = {
        name: (dry["counts"][name], message["counts"][name]) for name in message["counts"]
    }
    assert counts["recorded"] == counts["corrected"] == counts["permanent"] == (1, 1)
    assert (twice["counts"]["known"], twice["counts"]["corrected"]) == (1, 0)
    assert message["columns"] == {"address": "email", "type": "type", "diagnostic": "reason"}
    assert (after["cached"], after["charged"], after["usage"]["used"]) == (True, True, 3)
    assert emails(after) == emails(before) - {MAILBOX}
    assert len(after["contacts"]) == len(before["contacts"])

    (shown,) = rows(service, "searches", "show", before["id"])
    (bounced,) = [each for each in shown["run"]["people"] if each["why"] == "bounced"]
    assert (bounced["bounced"]["status"], bounced["bounced"]["verifier"]) == ("5.1.1", "smtp")
    assert MAILBOX not in json.dumps(shown)
    (report,) = rows(service, "report")
    figures = report["figures"]
    worst = figures["wrong_verdicts"][0]
    assert (worst["verifier"], worst["rule"]) == ("smtp", "recipient-accepted")
    assert worst["bounced"] == 1
    charges = [e for e in rows(service, "ledger", key["id"]) if e["what"] == "charged"]
    assert [len(each["bounced"]) for each in charges] == [1, 1, 0]
    assert rows(service, "log", "verify")[-1]["violations"] == 0


#: A report that anybody could write about a mailbox; it returns a message with that ID.
REPORT = """\
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.test

Final-Recipient: rfc822; {mailbox}
Action: failed
Status: 5.1.1

--b
Content-Type: text/rfc822-headers

Message-ID: {id}

--b--
"""


def test_a_forged_report_changes_nothing_and_one_of_a_sent_message_counts(
    service: Served, tmp_path: Path
) -> None:
    mail, sent = tmp_path / "returned.eml", tmp_path / "sent.csv"
    message = ("mailboxes", "bounced", str(mail), f"--sent={sent}")
    with service.client(service.new_key()) as client:
        before = search(client, "Vantorre")
        address, other, *_ = sorted(emails(before))
        sent.write_text(f"message-id,recipient\n<1@ops.test>,{address}\n<2@ops.test>,{other}\n")
        # The sender of the forged one knows the message that they got themselves.
        mail.write_text(REPORT.format(mailbox=address, id="<2@ops.test>"))
        refused = ran("mailboxes", "bounced", str(mail), f"--data-dir={service.folder}")
        (forged,) = rows(service, *message)
        between = search(client, "Vantorre")
        mail.write_text(REPORT.format(mailbox=address, id="<1@ops.test>"))
        (proven,) = rows(service, *message)
        after = search(client, "Vantorre")

    assert "--sent FILE" in refused.error(1)
    counts = {
        name: (forged["counts"][name], proven["counts"][name]) for name in forged["counts"]
    }
    assert (counts["unproven"], counts["bounces"]) == ((1, 0), (0, 1))
    assert counts["recorded"] == counts["corrected"] == (0, 1)
    assert address in emails(before) & emails(between)
    assert emails(after) == emails(before) - {address}


def test_a_sending_tool_may_post_them(service: Served) -> None:
    with service.client(service.new_key()) as client:
        before = search(client, "Kestrelle")
        (address, *_) = sorted(emails(before))
        message = post(
            service,
            [
                {"email": address, "event": "bounce", "status": "5.1.1"},
                {"email": address, "event": "delivered"},
                {"email": "nobody@kestrelle.test", "type": "soft"},
                {"email": "nobody"},
            ],
        ).json()
        after = search(client, "Kestrelle")

    results = [(each["result"], each.get("kind")) for each in message["results"]]
    assert results == [
        ("recorded", "permanent"),
        ("ignored", None),
        ("not_ours", "temporary"),
        ("bad", None),
    ]
    assert message["counts"]["rows"] == 4
    assert emails(after) == emails(before) - {address}


def test_a_post_that_cannot_be_taken_says_why(service: Served) -> None:
    cases: list[tuple[Any, dict[str, str], int, str]] = [
        (b"{", {}, 400, "no JSON"),
        (b'[{"n": 1e999}]', {}, 400, "it is no JSON: "),
        ([], {}, 400, "no row"),
        ([{"email": "a@b.test"}] * 1_001, {}, 400, "more than 1000 rows"),
        (b"[" + b" " * (1 << 20) + b"]", {}, 400, "longer than"),
        ([{}], {"Content-Type": "text/plain"}, 415, "application/json"),
        ([{}], {"Host": "rebound.example"}, 421, ""),
    ]
    for body, headers, status, said in cases:
        answer = post(service, body, **headers)
        assert (answer.status_code, said in answer.text) == (status, True), answer.text


def test_a_file_that_cannot_be_read_changes_nothing_and_bad_rows_are_reported(
    service: Served, tmp_path: Path
) -> None:
    file = tmp_path / "bounces.csv"
    file.write_text("email,type\nnobody,hard\nann@acme.test,hard\n")
    here = f"--data-dir={service.folder}"

    message = ran("mailboxes", "bounced", str(file), here)
    missing = ran("mailboxes", "bounced", str(tmp_path / "none.csv"), here)
    file.write_text("name\nAnn\n")

    assert message.code == 1
    assert "line 2: what it names is no e-mail address" in message.err
    assert "1 without a time are taken to be of now" in message.err
    assert "ann@" not in message.out + message.err
    assert "No such file" in missing.error(1)
    assert "lacks a column email" in ran("mailboxes", "bounced", str(file), here).error(1)
