"""A list to be searched, and a service that it is searched on."""

import csv
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import Any

import msgspec

from cli.command import Here, Ran
from client.answering import Answer, Answering, Got, refusal
from cs.cli.brand_list import RowState, hashed, search_list
from cs.cli.command import Invocation
from cs.cli.output import Progress
from cs.cli.search import ListOptions
from cs.client import Client, Patience
from cs.client.retries import NO_RETRIES

Clock = Callable[[], datetime]
KEY = "cs_live_x"
Respond = Callable[[str, "Service"], Answer | None]


def ordinary(_brand: str, _service: "Service") -> Answer | None:
    return None


@dataclass
class Service:
    """Answers searches as the service does: what was asked before is not charged again."""

    respond: Respond = ordinary
    searches: dict[str, str] = field(default_factory=dict)  # idempotency key: brand
    asked: list[str] = field(default_factory=list)
    lives: bool = False  # searches run on and on
    secrets: set[str] = field(default_factory=lambda: {KEY})  # that its one key ever had
    polled: Event = field(default_factory=Event)

    def __call__(self, got: Got) -> Answer:
        if got.method == "GET":
            self.polled.set()
            if got.headers["authorization"].removeprefix("Bearer ") not in self.secrets:
                return refusal(404, "not_found")
            return self.error(int(got.path.rpartition("_")[2]))
        brand: str = msgspec.json.decode(got.body).get("brand", "-")
        self.asked.append(brand)
        said = self.respond(brand, self)
        if said is not None:
            return said
        self.searches.setdefault(got.headers["idempotency-key"], brand)
        return self.error(list(self.searches).index(got.headers["idempotency-key"]))

    def lose(self, got: Got) -> Answer:
        """Search, and let a proxy answer that it took too long."""
        self(got)
        return 504, b"<html>", {}

    def error(self, number: int) -> Answer:
        brand = list(self.searches.values())[number]
        used = {"quota": 9, "used": len(self.searches), "remaining": 1}
        record: dict[str, Any] = {"id": f"srch_{number}", "brand": brand, "usage": used}
        if self.lives:
            record |= {"status": "running", "retry_after": 1}
        elif brand.startswith("bad"):
            record |= {"status": "failed", "reason": "no_linkedin", "charged": False}
        else:
            contact = {"full_name": f"Ada of {brand}", "email": "ada@a.example"}
            record |= {"status": "done", "charged": True, "contacts": [contact]}
        return 200, msgspec.json.encode(record), {"Content-Type": "application/json"}


@dataclass
class Desk:
    """A folder with a list in it."""

    here: Here
    folder: Path

    def write(self, text: str) -> None:
        (self.folder / "brands.csv").write_text(text)

    def search(
        self,
        server: Answering,
        *more: str,
        key: str = KEY,
        list_: tuple[str, bytes] | None = None,
    ) -> Ran:
        """Search the list that was written, or one of another name and content."""
        name = "brands.csv"
        if list_ is not None:
            name, content = list_
            (self.folder / name).write_bytes(content)
        file = f"--file={self.folder / name}"
        where = (f"--url={server.url}", f"--key={key}", "--patience=0")
        return self.here("search", file, *where, *more)

    @property
    def results(self) -> list[dict[str, str]]:
        with (self.folder / "brands.results.csv").open(newline="") as file:
            return list(csv.DictReader(file))

    @property
    def journal(self) -> Path:
        return self.folder / "brands.results.csv.journal"

    def write_running(self, key: str, search: str, asked_at: datetime) -> None:
        """Note in the journal, as another run would, that *search* runs."""
        state = RowState(key=key, asked_at=asked_at, by=hashed("one key"), search=search)
        with self.journal.open("ab") as file:
            file.write(msgspec.json.encode(state) + b"\n")

    def at(
        self,
        now: Clock,
        url: str,
        *,
        ask_again: bool = False,
        patience: Patience = NO_RETRIES,
        sleep: Callable[[float], None] = time.sleep,
    ) -> int:
        """Search the list when *now* says, and return the exit code."""
        results = self.folder / "brands.results.csv"
        path, options = self.folder / "brands.csv", ListOptions(ask_again=ask_again)
        code: int | str | None = 0
        made = Client(url, KEY, patience=patience, sleep=sleep, wall=lambda: now().timestamp())
        with Progress() as progress, made as client:
            try:
                ended = search_list(
                    path, results, options, client, progress, identity="one key", now=now
                )
                Invocation().run(ended)
            except SystemExit as end:
                code = end.code
        assert isinstance(code, int), code
        return code
