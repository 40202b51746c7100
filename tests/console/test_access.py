"""Who gets into the console, and who may do what there: over HTTP, with `cs operators`."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest

from cs.console.access import FAILURES_FROM
from harness.served import Served, cs

pytestmark = pytest.mark.slow  # a service in a process of its own


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service of the real world, which nobody has searched with; no proxy is trusted."""
    with Served(tmp_path_factory.mktemp("live") / "data", sandbox=False) as service:
        yield service


def operator(service: Served, name: str, role: str) -> str:
    """Create an operator, or give one a new token; return the token."""
    where = f"--data-dir={service.folder}"
    created = json.loads(cs("operators", "create", name, f"--role={role}", "--json", where))
    return str(created["token"])


def visitor(service: Served, **headers: str) -> httpx.Client:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Client(
        base_url=f"{service.admin_url}/console", headers=named, trust_env=False, timeout=30
    )


@contextmanager
def signed_in(service: Served, name: str, role: str) -> Iterator[httpx.Client]:
    who = {"name": name, "token": operator(service, name, role)}
    with visitor(service) as client:
        answer = client.post("/sign-in", data=who)
        assert (answer.status_code, answer.headers["location"]) == (303, "/console/")
        yield client


def csrf(client: httpx.Client, page: str = "/") -> str:
    found = re.search(r'name="csrf" value="([0-9a-f]{64})"', client.get(page).text)
    assert found is not None
    return found[1]


def test_nothing_is_shown_before_one_signs_in(live: Served) -> None:
    with visitor(live) as client:
        for path in ("/", "/searches", "/events/1", "/find?q=x"):
            for kind in ("text/html", "text/event-stream"):
                answer = client.get(path, headers={"Accept": kind})
                found = (answer.status_code, answer.headers["location"])
                assert found == (303, "/console/sign-in")
        assert client.post("/pause", data={"csrf": ""}).status_code == 303
        page = client.get("/sign-in")

    assert page.status_code == 200
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert page.headers["x-frame-options"] == "DENY"
    assert page.headers["cache-control"] == "no-store"


def test_a_session_begins_with_name_and_token_and_its_cookie_is_for_the_console_alone(
    live: Served,
) -> None:
    token = operator(live, "eve", "viewer")
    with visitor(live) as client:
        other = token[:-1] + ("y" if token.endswith("x") else "x")
        wrong = client.post("/sign-in", data={"name": "eve", "token": other})
        nobody = client.post("/sign-in", data={"name": "../eve", "token": token})
        right = client.post("/sign-in", data={"name": "Eve", "token": token})
        page = client.get("/")

    assert (wrong.status_code, nobody.status_code, right.status_code) == (401, 401, 303)
    assert "set-cookie" not in wrong.headers
    cookie = right.headers["set-cookie"].lower()
    assert all(each in cookie for each in ("httponly", "samesite=strict", "path=/console"))
    assert token not in cookie
    assert page.status_code == 200
    assert "eve (viewer)" in page.text


def test_a_changed_cookie_is_none(live: Served) -> None:
    with signed_in(live, "mallory", "viewer") as client:
        value = client.cookies["cs_console"]
        signed, _, signature = value.partition(".")
        wish = bytes.fromhex(signed).replace(b'"viewer"', b'"privacy"').hex()
        for forged in (f"{wish}.{signature}", signed, f"{signed}.é", f"zz.{signature}", ""):
            answer = httpx.get(
                f"{live.admin_url}/console/",
                headers=[(b"Cookie", f"cs_console={forged}".encode())],
                trust_env=False,
            )
            assert answer.status_code == 303, forged


def test_failed_sign_ins_by_a_name_from_an_address_are_limited(tmp_path: Path) -> None:
    with Served(tmp_path / "data", sandbox=False) as service, visitor(service) as client:
        token = operator(service, "ada", "viewer")
        other = operator(service, "eve", "viewer")
        wrong = [
            client.post("/sign-in", data={"name": "ada", "token": "x"}).status_code
            for _ in range(6)
        ]
        right = client.post("/sign-in", data={"name": "Ada", "token": token})
        colleague = client.post("/sign-in", data={"name": "eve", "token": other})
        guessed = [
            client.post("/sign-in", data={"name": f"n{n}", "token": "x"}).status_code
            for n in range(FAILURES_FROM)
        ]

    assert wrong == [401] * 5 + [429]
    assert right.status_code == 429
    assert colleague.status_code == 303, "who comes from the same address is not locked out"
    assert guessed == [401] * (FAILURES_FROM - 5) + [429] * 5


def test_a_role_may_do_what_it_may_and_a_form_of_another_page_nothing(live: Served) -> None:
    with signed_in(live, "vic", "viewer") as client:
        refused = client.post("/pause", data={"csrf": csrf(client)})
        assert "this needs the role operator" in refused.text
        assert "Refuse new searches" not in client.get("/").text, "it is not offered either"
    with signed_in(live, "olga", "operator") as client:
        forged = client.post("/pause", data={"csrf": "0" * 64})
        paused = client.post("/pause", data={"csrf": csrf(client)})
        again = client.post("/pause", data={"csrf": csrf(client)})
        shown = client.get("/").text
        resumed = client.post("/resume", data={"csrf": csrf(client)})
        reveal = client.post(
            "/searches/srch_x", data={"csrf": csrf(client), "why": "a b c d e"}
        )
        too_long = client.post("/pause", content=b"csrf=" + b"0" * 9_000)

    assert (refused.status_code, forged.status_code, reveal.status_code) == (403, 403, 403)
    assert too_long.status_code == 400
    assert "The API is paused." in paused.text
    assert "paused before" in again.text
    assert "new searches are refused" in shown
    assert "The API is resumed." in resumed.text
    trail = cs("log", "trail", "--json", "--by=olga", f"--data-dir={live.folder}")
    assert [json.loads(line)["what"] for line in trail.splitlines()] == [
        "api_paused",
        "api_resumed",
    ]


def test_a_new_token_and_a_revocation_end_sessions_at_once(live: Served) -> None:
    with signed_in(live, "rita", "viewer") as client:
        assert client.get("/").status_code == 200
        operator(live, "rita", "privacy")
        assert client.get("/").status_code == 303
    with signed_in(live, "rita", "operator") as client:
        assert client.get("/").status_code == 200
        cs("operators", "revoke", "rita", f"--data-dir={live.folder}")
        assert client.get("/").status_code == 303


def test_signing_out_takes_the_cookie(live: Served) -> None:
    with signed_in(live, "otto", "viewer") as client:
        copied = {"Cookie": f"cs_console={client.cookies['cs_console']}"}
        assert client.post("/sign-out", data={"csrf": csrf(client)}).status_code == 303
        assert client.get("/").status_code == 303
        assert client.get("/", headers=copied).status_code == 303, "nor does a copy of it work"


def test_calls_that_a_proxy_passes_on_need_tls_in_front_and_a_name_that_is_an_operator(
    tmp_path: Path,
) -> None:
    settings = {
        "CS_CONSOLE_PROXIES": "127.0.0.0/8",
        "CS_CONSOLE_USER_HEADER": "X-Auth-Request-Email",
    }
    by_proxy = {"x_forwarded_for": "203.0.113.9", "x_auth_request_email": "Ada@acme.example"}
    with Served(tmp_path / "data", sandbox=False, settings=settings) as service:
        operator(service, "ada@acme.example", "viewer")
        with visitor(service, **by_proxy, x_forwarded_proto="http") as client:
            plain = client.get("/")
        with visitor(service, **by_proxy, x_forwarded_proto="https") as client:
            known = client.get("/")
            act = client.post("/pause", data={"csrf": csrf(client)})
            operator(service, "ada@acme.example", "operator")
            with client.stream("GET", "/", headers={"Accept": "text/event-stream"}) as stream:
                lines = stream.iter_lines()
                offered = [*iter(partial(next, lines), "")]
                operator(service, "ada@acme.example", "viewer")
                taken_back = next(lines, "the stream ended")
        by_proxy["x_auth_request_email"] = "stranger@acme.example"
        with visitor(service, **by_proxy, x_forwarded_proto="https") as client:
            unknown = client.get("/")

        with visitor(service) as client:  # a trusted proxy that says nothing of TLS
            bare = client.get("/")
        token = operator(service, "eve", "viewer")
        with visitor(service, x_forwarded_for="1.2.3.4", x_forwarded_proto="https") as client:
            cookie = client.post("/sign-in", data={"name": "eve", "token": token}).headers

    assert "secure" in cookie["set-cookie"].lower()
    assert plain.status_code == unknown.status_code == act.status_code == 403
    assert bare.status_code == 403
    assert "only through a proxy that ends TLS" in plain.text
    assert "cs operators create" in unknown.text
    assert known.status_code == 200
    assert "ada@acme.example (viewer)" in known.text
    assert any('action="/console/pause"' in line for line in offered)
    assert taken_back == "the stream ended"


def test_headers_of_a_proxy_that_is_not_trusted_open_nothing(live: Served) -> None:
    operator(live, "ada", "privacy")
    with visitor(live, x_auth_request_email="ada") as client:
        assert client.get("/").status_code == 303
    with visitor(live, x_forwarded_for="127.0.0.1", x_forwarded_proto="https") as client:
        assert client.get("/").status_code == 403


def test_a_sandbox_is_open_on_this_machine_and_to_no_one_behind_a_proxy(tmp_path: Path) -> None:
    with Served(tmp_path / "data") as service:
        with visitor(service) as client:
            assert "sandbox (privacy)" in client.get("/").text
        for header in ("x_forwarded_for", "x_forwarded_proto", "via", "x_real_ip", "forwarded"):
            with visitor(service, **{header: "203.0.113.9"}) as client:
                assert client.get("/").status_code == 403, header


def test_settings_can_leave_the_console_out(tmp_path: Path) -> None:
    with (
        Served(tmp_path / "data", settings={"CS_CONSOLE": "false"}) as service,
        visitor(service) as client,
    ):
        assert client.get("/").status_code == 404


def test_reasons_of_disclosures_are_for_those_who_act(live: Served) -> None:
    where = f"--data-dir={live.folder}"
    why = "Ticket 4711 about a wrong name"
    cs("people", "export", "--email=jo@acme.test", f"--reveal={why}", where)
    events = cs("events", "export", "--type=disclosure.made", where).splitlines()
    at = f"/events/{json.loads(events[-1])['position']}"
    with signed_in(live, "vera", "viewer") as client:
        hidden = client.get(at).text
    with signed_in(live, "omar", "operator") as client:
        shown = client.get(at).text

    assert "people export" in hidden
    assert "4711" not in hidden
    assert why in shown
