"""What the service has set aside: damaged streams, and messages that could not be handled."""

from collections.abc import Iterator, Sequence

from starlette.exceptions import HTTPException
from starlette.requests import Request

from cs.bus.dead_letters import DeadLetter, DeadLetterBox
from cs.bus.topics import OUTCOMES, STAGE_TOPICS
from cs.console.access import Session
from cs.console.addresses import event_link, lookup_link, position_of, stream_link
from cs.console.views import REASON, ROWS, Action, Form, Input, Parts, View
from cs.domain.disclosure import DisclosedEvents
from cs.history.pages import listed
from cs.projections.set_aside import ASIDE, SET_ASIDE

#: Bytes of a letter that are shown.
SHOWN = 64 * 1024


async def list_dead_letters(parts: Parts, request: Request, _session: Session) -> View:
    """Show dead letters, without what is in them, and damaged streams."""
    return await _view(parts, first=position_of(request, "after") or 0)


async def read_dead_letter(parts: Parts, _: Request, session: Session, form: Form) -> View:
    """Show what is in one, once the reason is stored."""
    letter = (await _found(parts, form))[1]
    asked, upto = DisclosedEvents(lookup=letter.lookup), await parts.log.head()
    why = form.get("why", "")
    await parts.operator(session).disclose("console dead-letters", why, asked, upto=upto)
    content = letter.record.value[:SHOWN].decode(errors="replace")
    return await _view(parts, [(f"Content of {letter.id}", content)])


async def send_again(parts: Parts, _: Request, session: Session, form: Form) -> str:
    """Publish a dead letter again where it came from."""
    box, letter = await _found(parts, form)
    if letter.record.headers.get("topic") not in (OUTCOMES, *STAGE_TOPICS.values()):
        raise HTTPException(409, "it came from no topic of this service; discard it")
    async with box.handling(letter):
        await box.send_again(letter)
        await parts.operator(session).handle_dead_letter(letter, again=True)
    return "It was sent again. If it cannot be handled this time either, it comes back."


async def discard(parts: Parts, _: Request, session: Session, form: Form) -> str:
    box, letter = await _found(parts, form)
    async with box.handling(letter):
        await parts.operator(session).handle_dead_letter(letter, again=False)
    return "It is discarded."


async def _found(parts: Parts, form: Form) -> tuple[DeadLetterBox, DeadLetter]:
    box = parts.dead_letters
    letter = None if box is None else await box.get(form.get("letter", ""))
    if box is None or letter is None:
        raise HTTPException(404, "there is no such dead letter: it was handled, or is too old")
    return box, letter


async def _view(parts: Parts, contents: Sequence[tuple[str, str]] = (), first: int = 0) -> View:
    box, end = parts.dead_letters, first + ROWS
    why = "set kafka, docs/deploy.md" if box is None else box.why
    every = [] if box is None or why else await box.newest()
    letters = every[first:end]
    about = (
        "Messages that could not be read or handled, kept for an hour. Work without an answer "
        "is issued again by itself: correct what wrote them."
    )
    none = f"This process cannot read them: {why}." if why else f"None. {about}"
    rows = [
        {
            "letter": each.id,
            "published_at": each.published_at,
            "came_from": each.place,
            "error": each.record.headers.get("error", "")[:100],
            "bytes": len(each.record.value),
            "lookup": each.lookup and lookup_link(each.lookup),
        }
        for each in letters
    ]
    damaged = [
        {
            "stream": stream_link(row.stream),
            "from_version": row.version,
            "position": event_link(row.position) if row.position else None,
        }
        for _, row in await parts.views.tagged(ASIDE, SET_ASIDE)
    ]
    mend = "Passed over until they are mended, then taken up again: docs/runbook.md."
    return View(
        title="Dead letters",
        sections=[
            listed("Messages", rows, about=about, none=none, folded=contents),
            listed("Damaged streams", damaged[:ROWS], about=mend, none="None."),
        ],
        command="cs log verify",
        place="after",
        older=end if every[end:] else None,
        actions=[*_actions([each.id for each in letters])] if letters else [],
        live=not contents,
    )


def _actions(letters: Sequence[str]) -> Iterator[Action]:
    which = Input("letter", "Letter", options=letters)
    yield Action("Send again", "/console/dead-letters/send", inputs=[which])
    yield Action("Discard", "/console/dead-letters/discard", inputs=[which])
    yield Action("Read", "/console/dead-letters", role="privacy", inputs=[which, REASON])
