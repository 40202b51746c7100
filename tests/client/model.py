"""The service as a client sees it, in memory: admission, charging, idempotency, limits."""

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from client.answering import Time
from cs.client.calls import Call, NoReply, Reply
from cs.client.flows import Flow, Send, StepResult, WaitFor
from cs.client.many import Outcome

T = TypeVar("T")

#: What can befall one call.
FAULTS = ("none", "refused", "lost", "500", "500-after", "cut", "proxy", "429")
LIVE_S = 20.0
#: What the service says until its day is over, to all but brands it has answers for.
AT_CAPACITY = Reply(
    503,
    {"retry-after": "40000"},
    b'{"error": {"code": "at_capacity", "message": "full until tomorrow"}}',
)


@dataclass
class Model:
    """Does what is sent to it, at the times of *time*, with *faults* in turn."""

    time: Time
    faults: list[str] = field(default_factory=list)
    per_minute: int = 6
    searches: dict[str, tuple[str, float]] = field(default_factory=dict)  # id: brand, ends at
    by_key: dict[str, str] = field(default_factory=dict)
    counted: list[float] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    most_running: int = 0
    limited_once_for_s: int = 0
    live_s: float = LIVE_S

    def run(self, flow: Flow[T]) -> T:
        """Do what *flow* wants, and return what it returns."""
        try:
            step = next(flow)
            while True:
                step = flow.send(self.perform(step))
        except StopIteration as end:
            value: T = end.value
            return value

    def outcomes(
        self, steps: Generator[Send | WaitFor | Outcome, StepResult, None]
    ) -> list[Outcome]:
        found = []
        try:
            step = next(steps)
            while True:
                if isinstance(step, Outcome):
                    found.append(step)
                step = steps.send(self.perform(step))
        except StopIteration:
            return found

    def perform(self, step: Send | WaitFor | Outcome) -> StepResult:
        began = self.time.now()
        match step:
            case Send(call):
                return StepResult(began, began, self.faulty(call))
            case WaitFor(seconds):
                self.time.sleep(seconds)
            case _:
                pass
        return StepResult(began, self.time.now())

    def faulty(self, call: Call) -> Reply | NoReply:
        match self.faults.pop() if self.faults else "none":
            case "refused":
                return NoReply("connection refused")
            case "lost":
                self.answer(call)
                return NoReply("connection reset")
            case "500":
                return _reply(500, {"error": {"code": "server_error", "message": "oh"}})
            case "500-after":
                self.answer(call)
                return _reply(500, {"error": {"code": "server_error", "message": "oh"}})
            case "cut":
                whole = self.answer(call)
                return Reply(whole.status, whole.headers, whole.body[:20])
            case "proxy":
                self.answer(call)
                return Reply(504, {}, b"<html>gateway time-out</html>")
            case "429":
                return _limited(1, 6, {})
            case "busy":
                return Reply(503, {"retry-after": "30"}, AT_CAPACITY.body)
            case _:
                return self.answer(call)

    def answer(self, call: Call) -> Reply:
        if self.limited_once_for_s:
            seconds, self.limited_once_for_s = self.limited_once_for_s, 0
            return _limited(seconds, 60, {})
        if call.method == "GET":
            return self._record(call.path.rpartition("/")[2], 200)
        body: dict[str, Any] = msgspec.json.decode(call.body)
        if call.idempotency_key in self.by_key:
            return self._record(self.by_key[call.idempotency_key], 200)
        now = self.time.now()
        recent = [at for at in self.counted if at > now - 60]
        if len(recent) >= self.per_minute:
            self.refused.append("minute")
            return _limited(int(recent[0] + 60 - now) + 1, 6, self._left(now))
        running = sum(ends > now for _, ends in self.searches.values())
        if running >= 2:
            self.refused.append("in flight")
            return _reply(
                429,
                {"error": {"code": "too_many_in_flight", "message": "two"}},
                {"retry-after": "5"},
            )
        search = f"srch_{len(self.searches)}"
        cached = any(body["brand"] == brand for brand, _ in self.searches.values())
        self.searches[search] = (body["brand"], now if cached else now + self.live_s)
        self.by_key[call.idempotency_key] = search
        self.counted.append(now)
        self.most_running = max(self.most_running, running + (not cached))
        return self._record(search, 202)

    def _record(self, search: str, status: int) -> Reply:
        brand, ends = self.searches[search]
        usage = {"quota": 99, "used": len(self.searches), "remaining": 9}
        record: dict[str, Any] = {"id": search, "brand": brand, "usage": usage}
        now = self.time.now()
        if ends > now:
            record |= {"status": "running", "retry_after": 5}
        else:
            record |= {"status": "done", "charged": True}
        return _reply(status, record, self._left(now))

    def _left(self, now: float) -> dict[str, str]:
        recent = [at for at in self.counted if at > now - 60]
        reset = int(recent[0] + 60 - now) + 1 if recent else 60
        return {"ratelimit": f'"minute";r={self.per_minute - len(recent)};t={reset}'}


def _reply(status: int, body: object, headers: dict[str, str] | None = None) -> Reply:
    kind = {"content-type": "application/json"}
    return Reply(status, kind | (headers or {}), msgspec.json.encode(body))


def _limited(seconds: int, limit: int, headers: dict[str, str]) -> Reply:
    told = {"retry-after": str(seconds), "ratelimit-limit": str(limit), **headers}
    return _reply(429, {"error": {"code": "rate_limited", "message": "6 a minute"}}, told)
