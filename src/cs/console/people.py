"""Requests of people: what is held on one, and erasing one."""

from starlette.requests import Request
from starlette.responses import Response

from cs.console.access import Session
from cs.console.addresses import position_of
from cs.console.keys import acts_in
from cs.console.views import Action, Form, Input, Parts, View
from cs.eventlog.port import Where
from cs.history.pages import listed

#: The name of the file that an export is downloaded as.
FILE = "person.json"
_WHO = (Input("email", "E-mail"), Input("profile", "or LinkedIn profile"))
_WHY = "Asked for by the person, GDPR article 15"
_ACTIONS = (
    Action(
        "Export",
        "/console/people/export",
        role="privacy",
        inputs=[*_WHO, Input("why", "Reason", _WHY, required=True)],
    ),
    Action("Erase", "/console/people/erase", role="privacy", inputs=_WHO),
)


async def show_people(parts: Parts, request: Request, session: Session) -> View:
    """Offer to export or erase a person, and list past requests without names."""
    found, more = await parts.newest(
        Where(prefixes=frozenset({"person-"})), position_of(request)
    )
    acts = acts_in(await parts.opened(found))
    about = (
        "Export or erase one person, named by an e-mail or a LinkedIn profile, which is "
        "neither stored nor logged. `cs people erase --dry-run` says what would be destroyed."
    )
    if not session.may("privacy"):
        about += " Both need the role privacy; ask for it."
    return View(
        title="People",
        sections=[listed("Requests", acts, about=about)],
        command="cs people suppressed",
        older=more,
        actions=_ACTIONS,
    )


async def export(parts: Parts, _: Request, session: Session, form: Form) -> Response:
    """Return everything that is held on a person, as a file."""
    why = form.get("why", "")
    held = await parts.slow.do("export", session.name, _named(form), why, FILE)
    as_file = {"Content-Disposition": f'attachment; filename="{FILE}"'}
    return Response(held, media_type="application/json", headers=as_file)


async def erase(parts: Parts, _: Request, session: Session, form: Form) -> str:
    said: str = await parts.slow.do("erase", session.name, _named(form))
    return said


def _named(form: Form) -> tuple[str | None, str | None]:
    """Return e-mail and profile, as far as they are given."""
    email, profile = (form.get(name, "").strip() or None for name in ("email", "profile"))
    return email, profile
