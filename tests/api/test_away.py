"""While the log or the views are away every caller is answered, and nothing is done twice."""

import httpx
import pytest

from api.away import How, When, fragile
from api.openapi_document import faults

pytestmark = pytest.mark.slow

RUNNING = {"id", "status", "brand", "poll_url", "retry_after", "usage"}
HOW = pytest.mark.parametrize("how", ["fails", "hangs"])


def is_running(answer: httpx.Response, used: int) -> bool:
    """Tell whether *answer* is the whole 202 of a search that runs."""
    body = answer.json()
    assert (answer.status_code, set(body), body["status"]) == (202, RUNNING, "running")
    assert body["usage"] == {"quota": 10, "used": used, "remaining": 10 - used}
    assert answer.headers["Location"] == body["poll_url"] == f"/v1/searches/{body['id']}"
    assert answer.headers["Retry-After"] == "5"
    return faults("post", "/contacts", answer) == []


def is_server_error(
    method: str, path: str, answer: httpx.Response, *, is_bug: bool = False
) -> bool:
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "server_error")
    assert answer.headers.get("Retry-After") == (None if is_bug else "5")
    return faults(method, path, answer) == []


@HOW
@pytest.mark.parametrize("wait", [False, True])
async def test_a_stored_search_is_reported_of_without_the_log(how: How, wait: bool) -> None:
    async with fragile() as service:
        key = await service.new_key()
        service.log.go_at_admission("answered", how)

        answer = await service.posted(key, wait=wait)
        while_away = [
            await service.called(key, "GET", answer.json()["poll_url"].removeprefix("/v1")),
            await service.called(key, "GET", "/usage"),
        ]
        service.log.come()
        again = await service.posted(key)

        assert is_running(answer, used=0)
        assert answer.headers["RateLimit-Remaining"] == "59"
        assert is_server_error("get", "/searches/{id}", while_away[0])
        assert is_server_error("get", "/usage", while_away[1])
        assert again.json()["id"] == answer.json()["id"]
        assert (await service.ended(key, answer.json()["id"]))["status"] == "done"
        assert await service.admissions() == 1


@HOW
async def test_a_check_that_could_not_be_answered_is_not_counted(how: How) -> None:
    async with fragile() as service:
        key = await service.new_key()
        before = await service.called(key, "GET", "/usage")
        service.log.go(how)
        failed = await service.called(key, "GET", "/usage")
        service.log.come()

        answer = await service.called(key, "GET", "/usage")

    assert is_server_error("get", "/usage", failed)
    assert '"checks";r=119' in before.headers["RateLimit"]
    assert '"checks";r=118' in answer.headers["RateLimit"]


async def test_a_search_whose_append_says_nothing_is_found_in_the_log() -> None:
    async with fragile() as service:
        key = await service.new_key()
        service.log.go_at_admission("stored", "hangs", readable=True)

        answer = await service.posted(key)
        service.log.come()

        assert is_running(answer, used=0)
        assert await service.admissions() == 1


@pytest.mark.parametrize(
    ("when", "how", "readable", "once"),
    [
        ("before", "hangs", False, True),
        ("before", "hangs", True, False),
        ("before", "breaks", True, True),
        ("stored", "hangs", False, True),
    ],
)
async def test_a_search_of_unknown_result_is_an_error_and_made_once(
    when: When, how: How, readable: bool, once: bool
) -> None:
    async with fragile() as service:
        key = await service.new_key()
        service.log.go_at_admission(when, how, readable=readable)

        answer = await service.posted(key, once=once)
        service.log.come()
        again = await service.posted(key, once=once)

        assert is_server_error("post", "/contacts", answer, is_bug=how == "breaks")
        message = answer.json()["error"]["message"]
        assert message.startswith("it is not known whether this search was stored; ")
        assert ("with the same Idempotency-Key" if once else "read GET /usage") in message
        assert "nothing was charged" not in message
        assert again.status_code in {200, 202}
        assert (await service.ended(key, again.json()["id"]))["status"] == "done"
        assert await service.admissions() == 1


@HOW
async def test_a_log_that_was_away_before_has_stored_nothing(how: How) -> None:
    async with fragile() as service:
        key = await service.new_key()
        service.log.go(how)

        answer = await service.posted(key)
        service.log.come()

        assert is_server_error("post", "/contacts", answer)
        assert "not known" not in answer.json()["error"]["message"]
        assert await service.admissions() == 0


@pytest.mark.parametrize("wait", [False, True])
async def test_a_reused_search_is_reported_of_without_the_views(wait: bool) -> None:
    async with fragile() as service:
        first, key = await service.new_key(), await service.new_key()
        assert (await service.search(first, brand="Acme")).json()["status"] == "done"
        service.views.locked = True

        answer = await service.posted(key, wait=wait)
        replayed = await service.posted(key, wait=wait)
        checked = await service.called(key, "GET", "/usage")
        service.views.locked = False

        assert is_running(answer, used=1)
        assert replayed.json() == answer.json()
        assert checked.json() == answer.json()["usage"], "it is the log's to tell"
        record = await service.ended(key, answer.json()["id"])
        assert (record["status"], record["cached"], record["charged"]) == ("done", True, True)


async def test_a_search_that_was_stored_is_reported_of_whatever_its_append_raised() -> None:
    async with fragile() as service:
        key = await service.new_key()
        service.log.go_at_admission("stored", "breaks", readable=True)

        answer = await service.posted(key, once=False, patient=True)
        service.log.come()

        assert answer.status_code == 202
        again = await service.posted(key, once=False, patient=True)
        assert again.json()["id"] == answer.json()["id"]
        assert await service.admissions() == 1


async def test_a_failure_before_a_search_may_be_stored_has_charged_nothing() -> None:
    async with fragile() as service:
        key = await service.new_key()
        service.break_look_up_of_keys()

        answer = await service.posted(key, once=False, patient=True)

    assert is_server_error("post", "/contacts", answer, is_bug=True)
    assert "nothing was charged" in answer.json()["error"]["message"]
