"""One search from POST through log, relay, four topics and projections to GET."""

from harness.in_process import in_memory
from harness.outside import tools


async def test_a_search_finds_people_with_verified_mailboxes() -> None:
    async with in_memory(tools()) as service:
        key = await service.new_key()

        answer = await service.search(key, brand="Acme")

        assert answer.status_code == 200
        body = answer.json()
        assert body["status"] == "done"
        assert (body["cached"], body["charged"]) == (False, True)
        assert body["usage"] == {"quota": 10, "used": 1, "remaining": 9}
        assert body["domain"] == "acme.test"
        assert [(c["full_name"], c["email"], c["email_status"]) for c in body["contacts"]] == [
            ("Ada Kern", "ada.kern@acme.test", "verified"),
            ("Ben Ode", None, "not_found"),
        ]
        assert body["contacts"][0]["title"] == "Head of Influencer Marketing"
        assert body["contacts"][0]["email_source"] == "listed"


async def test_a_search_is_accepted_then_read_until_it_is_done() -> None:
    async with in_memory(tools()) as service:
        key = await service.new_key()
        async with service.client(key) as client:
            accepted = await client.post("/contacts", json={"brand": "Acme"})
            search = accepted.json()["id"]
            await service.running.reading.until_settled(search)
            read = await client.get(f"/searches/{search}")

        assert accepted.status_code == 202
        assert set(accepted.json()) == {
            "id",
            "status",
            "brand",
            "poll_url",
            "retry_after",
            "usage",
        }
        assert accepted.json()["poll_url"] == f"/v1/searches/{search}"
        assert read.status_code == 200
        assert read.json()["status"] == "done"


async def test_the_same_brand_again_is_answered_from_reuse_and_charged() -> None:
    async with in_memory(tools()) as service:
        key, other = await service.new_key(), await service.new_key()
        first = (await service.search(key, brand="Acme")).json()

        again = (await service.search(other, brand="ACME ")).json()

        assert again["cached"] is True
        assert again["charged"] is True
        assert again["id"] != first["id"]
        assert again["searched_at"] == first["searched_at"]
        assert again["contacts"] == first["contacts"]
        assert again["brand"] == "ACME"


async def test_an_unknown_brand_fails_and_is_free() -> None:
    async with in_memory(tools()) as service:
        key = await service.new_key()

        body = (await service.search(key, brand="Nobody Knows")).json()

        assert (body["status"], body["reason"]) == ("failed", "no_linkedin")
        assert body["charged"] is False
        assert body["contacts"] == []
        assert body["usage"]["used"] == 0


async def test_people_without_a_mailbox_are_listed_and_free() -> None:
    async with in_memory(tools(existing=frozenset())) as service:
        key = await service.new_key()

        body = (await service.search(key, brand="Acme")).json()

        assert (body["status"], body["reason"]) == ("failed", "no_emails")
        assert [c["email_status"] for c in body["contacts"]] == ["not_found", "not_found"]
        assert body["usage"]["used"] == 0
