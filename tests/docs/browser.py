"""A real browser, driven by the DevTools protocol over its own pipe."""

import json
import os
import shutil
import subprocess
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select
from time import monotonic
from typing import Any

from harness.servers.missing import Missing

Json = dict[str, Any]

#: Names that the browser goes by; all speak the same protocol.
_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_PATIENCE_S = 30
#: Its own first answer comes when its processes run: seconds of processor, of which a machine
#: on which four others compute may give it few.
_START_S = 120


#: In the browser's folder: what it says of itself.
_LOG = "browser.log"


class PageFailed(Exception):
    """The page or its script did not do what was asked; the message says what."""


def found_browser() -> str:
    """Return the command of a browser on this machine.

    Raises:
        Missing: There is none.
    """
    given = os.environ.get("CS_TEST_BROWSER")
    for name in [given] if given else _NAMES:
        path = shutil.which(name)
        if path:
            return path
    raise Missing("no browser: install chromium, or name one in CS_TEST_BROWSER")


class Browser:
    """One page of a headless browser."""

    def __init__(self, write: int, read: int) -> None:
        self._write = write
        self._read = read
        self._left = b""
        self._asked = 0
        self._session: str | None = None
        self._events: deque[Json] = deque()
        #: Errors of the page so far, those of its policy too: one line each.
        self.errors: list[str] = []
        self.ask("Browser.getVersion", within_s=_START_S)
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, *, within_s: float = _PATIENCE_S, **params: Any) -> Json:
        """Return what the browser answers *method*.

        Raises:
            PageFailed: It refused, has ended, or did not answer in *within_s*.
        """
        self._asked += 1
        asked = {"id": self._asked, "method": method, "params": params}
        if self._session:
            asked["sessionId"] = self._session
        self._send(json.dumps(asked).encode() + b"\0")
        until = monotonic() + within_s
        while True:
            told = self._next(until)
            if told.get("id") != self._asked:
                self._note(told)
            elif "error" in told:
                raise PageFailed(f"{method}: {told['error']['message']}")
            else:
                answer: Json = told["result"]
                return answer

    def open(self, url: str, *, width: int = 1440, height: int = 900) -> None:
        """Load *url* in a window of that many CSS pixels."""
        self.errors.clear()
        self._events.clear()
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        failed = self.ask("Page.navigate", url=url).get("errorText")
        if failed:
            raise PageFailed(f"{url}: {failed}")
        until = monotonic() + _PATIENCE_S
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._note(self._next(until))

    def value(self, script: str) -> Any:
        """Return what *script*, an expression or a promise of it, comes to in the page.

        Raises:
            PageFailed: It threw, or its promise was not kept in 30 s.
        """
        answer = self.ask(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in answer:
            raise PageFailed(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def asked_for(self) -> list[str]:
        """Return every address the page has asked for since it was opened."""
        sent = [e for e in self._events if e["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def end(self) -> None:
        self._session = None
        with suppress(PageFailed):  # it may be gone before it says so
            self.ask("Browser.close")

    def _send(self, message: bytes) -> None:
        """Write all of *message*: a signal may end a write into a full pipe before that."""
        while message:
            message = message[os.write(self._write, message) :]

    def _next(self, until: float) -> Json:
        while b"\0" not in self._left:
            ready, _, _ = select([self._read], [], [], max(0, until - monotonic()))
            read = os.read(self._read, 1 << 20) if ready else b""
            if not read:
                raise PageFailed("the browser ended" if ready else "the browser is silent")
            self._left += read
        one, _, self._left = self._left.partition(b"\0")
        told: Json = json.loads(one)
        return told

    def _note(self, event: Json) -> None:
        if "method" not in event:
            return
        self._events.append(event)
        said = event["params"]
        match event["method"]:
            case "Runtime.exceptionThrown":
                details = said["exceptionDetails"]
                self.errors.append(
                    details.get("exception", {}).get("description", details["text"])
                )
            case "Log.entryAdded" if said["entry"]["level"] == "error":
                self.errors.append(f"{said['entry']['text']} {said['entry'].get('url', '')}")
            case "Runtime.consoleAPICalled" if said["type"] in {"error", "assert"}:
                self.errors.append(
                    " ".join(
                        str(each.get("value", each.get("description"))) for each in said["args"]
                    )
                )


@contextmanager
def running_browser(folder: Path) -> Iterator[Browser]:
    """Run a browser with its profile in *folder*; it is ended on leaving.

    It reaches this machine and, by a proxy that is not there, nothing else.

    Raises:
        Missing: There is none on this machine.
    """
    command = found_browser()
    to_it, ours_out = os.pipe()
    ours_in, from_it = os.pipe()
    try:
        process = _start(command, folder, to_it, from_it)
    finally:
        os.close(to_it)
        os.close(from_it)
    try:
        try:
            browser = Browser(ours_out, ours_in)
        except PageFailed as failed:
            said = (folder / _LOG).read_text(errors="replace")
            raise PageFailed(f"{failed} at its start, and has said:\n{said[-2000:]}") from None
        yield browser
        browser.end()
    finally:
        os.close(ours_out)
        os.close(ours_in)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _start(command: str, folder: Path, to_it: int, from_it: int) -> "subprocess.Popen[bytes]":
    options = [
        *("--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu"),
        *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
        *("--disable-dev-shm-usage", "--hide-scrollbars", f"--user-data-dir={folder}"),
        *("--proxy-server=127.0.0.1:9", "--proxy-bypass-list=127.0.0.1"),
        # Nothing of a desktop is asked for, which may be there and not answer for 25 s (D-Bus).
        *("--password-store=basic", "--disable-breakpad", "--disable-extensions"),
        *("--disable-sync", "--disable-default-apps", "--no-default-browser-check"),
        *("--metrics-recording-only", "--enable-logging=stderr"),
    ]
    # A browser reads its orders from descriptor 3 and answers on 4.
    moved = f'exec "$0" "$@" 3<&{to_it} 4>&{from_it}'
    with (folder / _LOG).open("wb") as log:
        return subprocess.Popen(
            ["bash", "-c", moved, command, *options],
            pass_fds=(to_it, from_it),
            stdout=log,
            stderr=log,
            env={name: v for name, v in os.environ.items() if "DBUS" not in name},
        )
