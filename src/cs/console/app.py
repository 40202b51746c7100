"""The console as routes of the admin port, below ``/console``.

Every page is rendered on the server and readable without JavaScript.  A form names the token of
its session, asks once, and ends at a page that says what was done.
"""

import asyncio
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from importlib.resources import files
from mimetypes import guess_type
from urllib.parse import parse_qsl, quote, urlencode

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route

from cs.bus.port import BusUnavailable
from cs.console import (
    brands,
    dead_letters,
    events,
    keys,
    overview,
    people,
    reports,
    searches,
    sources,
)
from cs.console.access import COOKIE, Session
from cs.console.addresses import same
from cs.console.views import NOT_READY, Act, Action, Form, Handler, Parts, Secret, View
from cs.domain.console_operator import OperatorRole
from cs.domain.refusal import Refusal
from cs.eventlog.port import LogUnavailable
from cs.history.pages import Section, environment
from cs.keystore.port import KeysUnavailable
from cs.runtime.coordination import KeyedLock
from cs.runtime.ids import random_id
from cs.runtime.lru import LruDict
from cs.runtime.shared import Shared
from cs.runtime.slow_work import SlowWorkFailed

#: Longest body of a form, in bytes.
MAX_FORM = 8_192
#: Longest wait for a new event before a live page is made again, and the shortest time between
#: two makings: each takes from the calls of the API.  One is for all who look at the page.
LIVE_S, LIVE_EVERY_S = 15.0, 3.0
#: Live pages that are kept for others.
MAX_PAGES = 100
#: Forms that are remembered with what they did: sent again, they do nothing.
MAX_DONE = 1_000
WAS_SHOWN = "It is done, and the secret was shown once. If you did not see it, rotate again."
#: How long browsers may keep a file that has its version in its address.
YEAR_S = 365 * 86_400
#: Live pages at once; further ones are read again by hand.
MAX_LIVE = 100

#: What a call of the console may meet.
_PROBLEMS = (
    *(HTTPException, Refusal, SlowWorkFailed),
    *(BusUnavailable, LogUnavailable, KeysUnavailable),
)
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
#: Those without a parameter are in the head of every page (`console.html`).
VIEWS: Mapping[str, Handler] = {
    "/": overview.overview,
    "/searches": searches.list_searches,
    "/searches/{search}": searches.show_search,
    "/brands": brands.list_brands,
    "/brands/{stream}": brands.show_brand,
    "/brands/{stream}/compare": brands.compare_runs,
    "/keys": keys.list_keys,
    "/keys/{key}": keys.show_key,
    "/mail-domains": brands.list_mail_domains,
    "/sources": sources.show_sources,
    "/events": events.list_events,
    "/events/{position}": events.show_event,
    "/report": reports.show_report,
    "/dead-letters": dead_letters.list_dead_letters,
    "/people": people.show_people,
}
_ACTS: Mapping[OperatorRole, Mapping[str, Act]] = {
    "operator": {
        "/pause": overview.pause_or_resume,
        "/resume": overview.pause_or_resume,
        "/brands/{stream}/forget": brands.forget,
        "/keys/{key}/grant": keys.grant,
        "/keys/{key}/limit": keys.limit,
        "/keys/{key}/rotate": keys.rotate,
        "/keys/{key}/revoke": keys.revoke,
        "/sources/check-sources": sources.check,
        "/sources/check-verifiers": sources.check,
        "/dead-letters/send": dead_letters.send_again,
        "/dead-letters/discard": dead_letters.discard,
    },
    "privacy": {
        "/searches/{search}": searches.reveal_search,
        "/dead-letters": dead_letters.read_dead_letter,
        "/people/export": people.export,
        "/people/erase": people.erase,
    },
}
#: By their names.  Their address has a version, so that browsers keep them for long.
_STATIC = {
    each.name: each.read_bytes()
    for each in (
        *files("cs.console").joinpath("static").iterdir(),
        files("cs.history").joinpath("templates/page.css"),
    )
}
_VERSION = sha256(b"".join(_STATIC[name] for name in sorted(_STATIC))).hexdigest()[:12]


def console_routes(parts: Parts) -> Sequence[BaseRoute]:
    """Return the routes of the console over *parts*."""
    console = _Console(parts)
    routes: list[Route] = [
        Route("/static/{version}/{name}", console.static),
        Route("/sign-in", console.sign_in, methods=["GET", "POST"]),
        Route("/sign-out", console.guarded(console.sign_out, "viewer"), methods=["POST"]),
        Route("/find", console.guarded(console.find, "viewer")),
        *(
            Route(path, console.guarded(console.view(handler), "viewer"))
            for path, handler in VIEWS.items()
        ),
        *(
            Route(path, console.guarded(console.act(act), role), methods=["POST"])
            for role, acts in _ACTS.items()
            for path, act in acts.items()
        ),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: console.refuse})
    return [
        Route("/console", lambda _: RedirectResponse("/console/")),
        Mount("/console", app=app),
    ]


Endpoint = Callable[[Request, Session], Awaitable[Response]]
#: The end of the log before a live page was made, what it shows, and whether it goes on.
_Live = tuple[int, str, bool]


class _Console:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._templates = environment("cs.console", "cs.history")
        self._templates.globals["static"] = f"/console/static/{_VERSION}"
        self._templates.globals["not_ready"] = NOT_READY
        self._live = 0
        self._pages = LruDict[str, Shared[_Live]](MAX_PAGES)
        # Stand for what is of one session in a page that several share.
        self._csrf, self._once = random_id("csrf_", 26), random_id("once_", 26)
        self._done = LruDict[str, str](MAX_DONE)
        self._acting = KeyedLock()

    def guarded(
        self, endpoint: Endpoint, role: OperatorRole
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return *endpoint* for those who are signed in and may do what *role* may."""

        async def answer(request: Request) -> Response:
            try:
                session = await self._parts.access.session(request)
                if session is None:
                    return self._headed(RedirectResponse("/console/sign-in", 303))
                if session.may(role):
                    response = await endpoint(request, session)
                else:
                    response = self._problem(403, f"this needs the role {role}; ask for it")
            except _PROBLEMS as error:
                response = self._problem(*_in_words(error))
            else:
                # What a page asks for by itself keeps no session alive.
                by_itself = "hx-request" in request.headers or _is_stream(request)
                over = self._parts.access.is_over(session)
                if session.token and not by_itself and not over:
                    self._parts.access.remember(response, session, request)
            return self._headed(response)

        return answer

    def view(self, handler: Handler) -> Endpoint:
        async def show(request: Request, session: Session) -> Response:
            async def made() -> View:
                view = await handler(self._parts, request, session)
                known = {view.place, "at", "span", *(each.name for each in view.filters)}
                if unknown := {*request.query_params} - known:
                    raise HTTPException(400, f"there is no filter {min(unknown)[:40]} here")
                return view

            async def main() -> _Live:
                position = await self._parts.log.head()
                view = await made()
                return position, self._main(view, request, session), view.live

            if not _is_stream(request):
                return self._page(await made(), request, session)
            address = f"{session.role} {request.url.path}?{request.url.query}"
            page = self._pages.use(address)
            if page is None:
                page = self._pages[address] = Shared[_Live](LIVE_EVERY_S)
            stream = self._live_page(request, session.role, partial(page.get, main))
            unbuffered = {"x-accel-buffering": "no"}  # nginx would hold a stream back
            return StreamingResponse(stream, 200, unbuffered, "text/event-stream")

        return show

    async def _live_page(
        self, request: Request, role: OperatorRole, main: Callable[[], Awaitable[_Live]]
    ) -> AsyncIterator[bytes]:
        """Send a page as a server-sent event, again whenever it shows something else."""
        if self._live >= MAX_LIVE:
            return
        self._live += 1  # here: of a caller that has gone before it begins none is left
        try:
            sent = request.headers.get("last-event-id")
            while (session := await self._parts.access.session(request)) and session.may(role):
                position, text, goes_on = await main()
                if sent != (sent := _mark(text)):
                    lines = self._own(text, session).replace("\n", "\ndata: ")
                    yield f"id: {sent}\ndata: {lines}\n\n".encode()
                else:
                    yield b": as before\n\n"
                if not goes_on:
                    return
                await asyncio.sleep(LIVE_EVERY_S)
                with suppress(TimeoutError):
                    async with asyncio.timeout(LIVE_S):
                        await self._parts.log.grown(position)
        except _PROBLEMS:
            return  # the status is sent already: the browser asks again
        finally:
            self._live -= 1

    def act(self, act: Act) -> Endpoint:
        async def do(request: Request, session: Session) -> Response:
            form = await _form(request, session)
            once = f"{session.csrf} {request.url.path} {form.get('once') or random_id('')}"
            async with self._acting.of(once):
                said = self._done.get(once)
                if said is None:
                    result = await act(self._parts, request, session, form)
                    if isinstance(result, Response):
                        return result
                    if isinstance(result, View):
                        return self._page(result, request, session)
                    self._parts.state.forget()
                    said = result
                    self._done[once] = WAS_SHOWN if isinstance(said, Secret) else said
            back = request.url.path.rpartition("/")[0] or "/console"
            done = Section(heading="Done", about=said)
            view = View(title="Done", sections=[done], command="cs log trail")
            return self._page(view, request, session, back=back)

        return do

    async def find(self, request: Request, _: Session) -> Response:
        """Lead to what the words in the search box name, by their form."""
        words = request.query_params.get("q", "").strip()[:300]
        return RedirectResponse(f"/console/{await self._place_of(words)}", 303)

    async def _place_of(self, words: str) -> str:
        forms = {"srch_": "searches/", "key_": "keys/", "brand-": "brands/"}
        for begins, where in forms.items():
            if words.startswith(begins) and "/" not in words:
                is_lookup = begins == "brand-" and "." in words
                return ("events?lookup=" if is_lookup else where) + quote(words)
        if words.isdecimal():
            return f"events/{words[:15]}"
        if words.startswith("req_"):
            return f"searches/{await searches.search_of_call(self._parts, words)}"
        meant = await keys.keys_meant(self._parts, words) if words else []
        if len(meant) == 1:
            return f"keys/{meant[0][0]}"
        return f"{'keys' if meant else 'brands'}?{urlencode({'q': words})}"

    async def sign_in(self, request: Request) -> Response:
        said, status = "", 200
        if request.method == "POST":
            try:
                form = await _fields(request)
                session = await self._parts.access.sign_in(
                    request, form.get("name", ""), form.get("token", "")
                )
            except _PROBLEMS as error:
                status, said = _in_words(error)
            else:
                if session is not None:
                    response: Response = RedirectResponse("/console/", 303)
                    self._parts.access.remember(response, session, request)
                    return self._headed(response)
                said, status = "name and token do not match", 401
        text = self._templates.get_template("sign_in.html").render(said=said)
        return self._headed(HTMLResponse(text, status))

    async def sign_out(self, request: Request, session: Session) -> Response:
        await _form(request, session)
        self._parts.access.sign_out(session)
        response = RedirectResponse("/console/sign-in", 303)
        response.delete_cookie(COOKIE, path="/console")
        return response

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _STATIC or request.path_params["version"] != _VERSION:
            return self._headed(Response("there is no such file", 404))
        response = Response(_STATIC[name], media_type=guess_type(name)[0])
        response.headers.update(_HEADERS | {"Cache-Control": f"max-age={YEAR_S}, immutable"})
        return response

    def _page(
        self, view: View, request: Request, session: Session, back: str | None = None
    ) -> Response:
        main = self._main(view, request, session, back)
        text = self._templates.get_template("console.html").render(
            view=view,
            main=main,
            mark=_mark(main),
            session=session,
            csrf=session.csrf,
            path=_path(request),
        )
        return HTMLResponse(self._own(text, session))

    def _main(
        self, view: View, request: Request, session: Session, back: str | None = None
    ) -> str:
        """Return what *view* shows, which `_own` makes that of a session with that role."""
        allowed: Sequence[Action] = [each for each in view.actions if session.may(each.role)]
        json = msgspec.json.encode
        plots = {
            title: json({"names": [*lines], "data": [view.times, *lines.values()]}).decode()
            for title, lines in view.plots.items()
        }
        return self._templates.get_template("main.html").render(
            view=view,
            csrf=self._csrf,
            once=self._once,
            actions=allowed,
            plots=plots,
            path=_path(request),
            here=same(request),
            older=None if view.older is None else same(request, **{view.place: view.older}),
            newest=request.query_params.get(view.place) and same(request, **{view.place: ""}),
            back=back,
        )

    def _own(self, page: str, session: Session) -> str:
        """Return *page* as that of *session*, each form in it as one that was not sent yet."""
        first, *forms = page.replace(self._csrf, session.csrf).split(self._once)
        return first + "".join(random_id("", 16) + each for each in forms)

    async def refuse(self, _: Request, error: Exception) -> Response:
        return self._headed(self._problem(*_in_words(error)))

    def _problem(self, status: int, said: str) -> Response:
        text = self._templates.get_template("problem.html").render(status=status, said=said)
        return HTMLResponse(text, status)

    def _headed(self, response: Response) -> Response:
        response.headers.update(_HEADERS)
        return response


def _in_words(error: Exception) -> tuple[int, str]:
    """Return the status that *error* is answered with, and what is said."""
    if isinstance(error, HTTPException):
        return error.status_code, str(error.detail)
    if isinstance(error, Refusal | SlowWorkFailed):
        return 409 if isinstance(error, Refusal) else 503, str(error)
    return 503, f"{error}; try again"


def _is_stream(request: Request) -> bool:
    """Return whether a live page asks for what it shows from now on."""
    return request.headers.get("accept") == "text/event-stream"


def _mark(text: str) -> str:
    """Return another mark for another *text*."""
    return sha256(text.encode()).hexdigest()[:16]


def _path(request: Request) -> str:
    return request.url.path.rstrip("/") or "/console"


async def _form(request: Request, session: Session) -> Form:
    """Return the fields of a form of *session*.

    Raises:
        HTTPException: 403: it was not made by a page of this session.
    """
    form = await _fields(request)
    if not hmac.compare_digest(form.get("csrf", "").encode(), session.csrf.encode()):
        raise HTTPException(403, "this form is of another session; load the page again")
    return form


async def _fields(request: Request) -> Form:
    """Return the fields of a form.

    Raises:
        HTTPException: 400: it is too long, or none.
    """
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_FORM:
            raise HTTPException(400, f"a form has at most {MAX_FORM} bytes")
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=20))
    except ValueError as error:
        raise HTTPException(400, "this is no form") from error
