"""The one service of a log: its world, the pause switch, and dead letters that were handled.

Stream category ``service``; one stream, ``service``.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal, assert_never

import msgspec
from msgspec.structs import replace

from cs.domain.messages import Command, Event
from cs.domain.refusal import Refusal

World = Literal["sandbox", "live"]
#: Dead letters that the service remembers as handled; the oldest go first.
HANDLED = 1_000


class WorldChosen(Event, frozen=True, kw_only=True):
    """Written by the first role that starts; every other role refuses another world."""

    world: World


class Paused(Event, frozen=True, kw_only=True):
    by: str | None = None  # account or label of the operator


class Resumed(Event, frozen=True, kw_only=True):
    by: str | None = None


class DeadLetterSentAgain(Event, frozen=True, kw_only=True):
    """An operator sent a dead letter back to the topic that it came from.

    Attributes:
        letter: That topic, partition and offset.
    """

    letter: str
    by: str | None = None


class DeadLetterDiscarded(Event, frozen=True, kw_only=True):
    """An operator discarded a dead letter; ``letter`` as in `DeadLetterSentAgain`."""

    letter: str
    by: str | None = None


ServiceEvent = WorldChosen | Paused | Resumed | DeadLetterSentAgain | DeadLetterDiscarded

#: Topics of stored events: never renamed or reused.
EVENT_TOPICS: Mapping[str, type[ServiceEvent]] = {
    "service.world-chosen.v1": WorldChosen,
    "service.paused.v1": Paused,
    "service.resumed.v1": Resumed,
    "service.dead-letter-sent-again.v1": DeadLetterSentAgain,
    "service.dead-letter-discarded.v1": DeadLetterDiscarded,
}


class ChooseWorld(Command, frozen=True, kw_only=True):
    world: World


class Pause(Command, frozen=True, kw_only=True):
    by: str | None = None


class Resume(Command, frozen=True, kw_only=True):
    by: str | None = None


class HandleDeadLetter(Command, frozen=True, kw_only=True):
    """Send a dead letter *again*, or discard it; it was published at *published_at*."""

    letter: str
    published_at: datetime
    again: bool
    by: str | None = None


ServiceCommand = ChooseWorld | Pause | Resume | HandleDeadLetter


class Service(msgspec.Struct, frozen=True):
    """The world of the log, ``None`` before its first start, and whether the API is paused.

    Attributes:
        handled: When each dead letter was handled, the last `HANDLED` of them.
    """

    world: World | None = None
    paused: bool = False
    handled: Mapping[str, datetime] = {}
    last_at: datetime = datetime.min.replace(tzinfo=UTC)


INITIAL = Service()


def is_handled(handled: Mapping[str, datetime], letter: str, published_at: datetime) -> bool:
    """Return whether *letter* is among the *handled*.

    One that was published after that is another: a bus in memory counts from 0 at each start.
    """
    at = handled.get(letter)
    return at is not None and at >= published_at


def decide(command: ServiceCommand, state: Service) -> tuple[ServiceEvent, ...]:
    """Return the events *command* causes; ``()`` if there is nothing new to say.

    Raises:
        Refusal: ``other-world``: the log belongs to the other world; ``no-service``: it
            belongs to none yet; ``letter-handled``: the dead letter is handled already.
    """
    at = max(command.at, state.last_at)
    match command:
        case ChooseWorld(world=world):
            if state.world is None:
                return (WorldChosen(world=world, at=at),)
            if state.world != world:
                raise Refusal(
                    "other-world",
                    f"this data belongs to a {state.world} service and cannot be used by a "
                    f"{world} one; start it {_HOW[state.world]}, or name another data folder",
                )
            return ()
        case Pause() | Resume() if state.world is None:
            raise Refusal(
                "no-service", "no service has run on this data yet; there is nothing to pause"
            )
        case Pause(by=by):
            return () if state.paused else (Paused(by=by, at=at),)
        case Resume(by=by):
            return (Resumed(by=by, at=at),) if state.paused else ()
        case HandleDeadLetter(letter=letter) if is_handled(
            state.handled, letter, command.published_at
        ):
            raise Refusal("letter-handled", "this dead letter is handled already")
        case HandleDeadLetter(letter=letter, again=again, by=by):
            kind = DeadLetterSentAgain if again else DeadLetterDiscarded
            return (kind(letter=letter, by=by, at=at),)
        case _:
            assert_never(command)


_HOW = {"sandbox": "with --sandbox", "live": "without --sandbox"}


def evolve(state: Service, event: ServiceEvent) -> Service:
    """Return *state* after *event*.  Never raises: what happened, happened."""
    state = replace(state, last_at=event.at)
    match event:
        case WorldChosen(world=world):
            return replace(state, world=world)
        case Paused():
            return replace(state, paused=True)
        case Resumed():
            return replace(state, paused=False)
        case DeadLetterSentAgain(letter=letter) | DeadLetterDiscarded(letter=letter):
            newest = dict([*state.handled.items()][1 - HANDLED :])
            return replace(state, handled=newest | {letter: event.at})
        case _:
            assert_never(event)
