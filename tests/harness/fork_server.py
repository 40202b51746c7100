"""Forks processes that have the service imported: ``python -m harness.fork_server``.

An interpreter that imports the service takes 0.9 s of processor before it does anything; one
that is forked from here takes 0.3 s to the same point (`cs serve --sandbox` to its first line).
Tests that kill and start the service do so some five hundred times.

Its arguments are the descriptor of a Unix socket and a number of seconds.  A packet on the
socket is a `Request`; with it come four descriptors: standard input, output and error, and a
pipe that is told the child's process id and, once it has ended, its exit code, a line each.
When the socket is closed the server ends with its last child, which it kills after the seconds.
"""

import gc
import importlib
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass

import msgspec

import cs

#: Imports pytest, which no service does.
_NOT_OF_A_SERVICE = "cs.plugins.contracts"
#: They start threads when they are imported, which no fork takes along: a child that has them
#: aborts at its end (SIGABRT).  What imports them is imported where it is used.
WITH_THREADS = ("duckdb", "pyarrow")
#: Longer than any environment that a test hands on.
MAX_REQUEST_BYTES = 1 << 17


class Request(msgspec.Struct, frozen=True):
    """``python -m module *words`` with *environment* in *folder*."""

    module: str
    words: list[str]
    environment: dict[str, str]
    folder: str


@dataclass(frozen=True)
class _Child:
    pid: int
    pipe: int

    def report_end(self) -> None:
        _, status = os.waitpid(self.pid, 0)
        with suppress(BrokenPipeError):  # nobody waits for it any more
            os.write(self.pipe, b"%d\n" % os.waitstatus_to_exitcode(status))
        os.close(self.pipe)


@dataclass(frozen=True)
class _Packet:
    content: bytes
    streams: list[int]


def main() -> None:
    """Serve until the socket is closed; in a child, become what was asked for."""
    _preload()
    requests = socket.socket(fileno=int(sys.argv[1]))
    asked = _serve(requests, orphans_s=float(sys.argv[2]))
    requests.detach()
    if asked is not None:
        request = msgspec.json.decode(asked.content, type=Request)
        _become(request, asked.streams)
        sys.argv = [request.module, *request.words]
        runpy.run_module(request.module, run_name="__main__", alter_sys=True)


def _preload() -> None:
    for library in WITH_THREADS:
        sys.modules[library] = None  # type: ignore[assignment]  # so that no import finds it
    for module in pkgutil.walk_packages(cs.__path__, "cs."):
        if not module.name.startswith(_NOT_OF_A_SERVICE) and module.name != "cs.__main__":
            try:
                importlib.import_module(module.name)
            except ModuleNotFoundError as error:
                if error.name not in WITH_THREADS:
                    raise
    for library in WITH_THREADS:
        del sys.modules[library]
    gc.collect()
    gc.freeze()  # pages that no collection writes to stay shared


def _serve(requests: socket.socket, *, orphans_s: float) -> _Packet | None:
    """Return None when the last child has ended, and in every child what it is to be."""
    with selectors.DefaultSelector() as waiting:
        waiting.register(requests, selectors.EVENT_READ)
        while True:
            for key, _ in waiting.select():
                if isinstance(key.data, _Child):
                    waiting.unregister(key.fd)
                    os.close(key.fd)
                    key.data.report_end()
                    continue
                content, descriptors, _, _ = socket.recv_fds(requests, MAX_REQUEST_BYTES, 4)
                if not content:
                    waiting.unregister(requests)
                    _end_orphans(waiting, orphans_s)
                    return None
                *streams, pipe = descriptors
                pid = os.fork()
                if pid == 0:
                    return _Packet(content, streams)
                for stream in streams:
                    os.close(stream)
                os.write(pipe, b"%d\n" % pid)
                waiting.register(os.pidfd_open(pid), selectors.EVENT_READ, _Child(pid, pipe))


def _end_orphans(waiting: selectors.BaseSelector, within_s: float) -> None:
    give_up = time.monotonic() + within_s
    while waiting.get_map():
        ended = waiting.select(give_up - time.monotonic())
        for key, _ in ended:
            waiting.unregister(key.fd)
        if not ended:
            for key in waiting.get_map().values():
                os.kill(key.data.pid, signal.SIGKILL)
            return


def _become(request: Request, streams: list[int]) -> None:
    """Take over what a new process is given; nothing of the server stays open."""
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()


if __name__ == "__main__":
    main()
