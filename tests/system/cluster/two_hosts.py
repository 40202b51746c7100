"""A second host: a network namespace, joined to this one by a pair of virtual network cards.

A port of one host is forwarded from the loopback address of the other, so that servers and
roles listen on loopback only, as everywhere in tests.  It wants root, and a process in a
network namespace of its own (``unshare --net``), which is the first host.
"""

import shutil
import signal
import socket
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

#: Addresses of the two hosts, which no network needs to have.
FIRST, SECOND = "10.99.7.1", "10.99.7.2"
#: Network cards of the two hosts.
_FIRST_CARD, _SECOND_CARD = "cs-first", "cs-second"
#: Which packets are dropped, seen from the second host.
DIRECTIONS = ("in", "out", "both")
PROGRAMS = ("unshare", "nsenter", "ip", "iptables", "sysctl")


class Cut(NamedTuple):
    """Packets of *ports* in *direction* are dropped; nobody is told."""

    ports: Sequence[int]
    direction: str


@dataclass(frozen=True)
class SecondHost:
    """The host of the process *pid*, which does nothing."""

    pid: int

    @property
    def launcher(self) -> Sequence[str]:
        """What becomes a command on this host."""
        return ("nsenter", f"--net=/proc/{self.pid}/ns/net")

    def show_here(self, ports: Iterable[int]) -> None:
        """Forward *ports* of the first host from this one's loopback address."""
        for port in ports:
            _forward(port, self.launcher, FIRST, (), _FIRST_CARD)

    def show_there(self, ports: Iterable[int]) -> None:
        """Forward *ports* of this host from the first one's loopback address."""
        for port in ports:
            _forward(port, (), SECOND, self.launcher, _SECOND_CARD)

    @contextmanager
    def without(self, cut: Cut) -> Iterator[None]:
        """Drop the packets of *cut* until left."""
        chains = {
            "in": [("INPUT", "--sport")],
            "out": [("OUTPUT", "--dport")],
            "both": [("INPUT", "--sport"), ("OUTPUT", "--dport")],
        }
        rules = [
            (chain, "-p", "tcp", side, str(port), "-j", "DROP")
            for (chain, side), port in product(chains[cut.direction], cut.ports)
        ]
        for rule in rules:
            _run(*self.launcher, "iptables", "-A", *rule)
        try:
            yield
        finally:
            for rule in rules:
                _run(*self.launcher, "iptables", "-D", *rule)


@contextmanager
def second_host() -> Iterator[SecondHost]:
    """Make the second host, and remove it when left.

    Raises:
        SystemExit: It cannot be made here; the message says why.
    """
    if {name for _, name in socket.if_nameindex()} != {"lo"}:
        raise SystemExit("this changes its network: run it as root by `make faults-network`")
    missing = [each for each in PROGRAMS if shutil.which(each) is None]
    if missing:
        raise SystemExit(
            f"this needs root and {', '.join(missing)} (util-linux, iproute2, iptables)"
        )
    command = ["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()  # it is in its namespace
            host = SecondHost(process.pid)
            _join(host)
            yield host
        finally:
            process.send_signal(signal.SIGKILL)


def _join(host: SecondHost) -> None:
    there = host.launcher
    _run("ip", "link", "set", "lo", "up")
    _run(*there, "ip", "link", "set", "lo", "up")
    peer = ("peer", "name", _SECOND_CARD, "netns", str(host.pid))
    _run("ip", "link", "add", _FIRST_CARD, "type", "veth", *peer)
    sides = (((), FIRST, SECOND, _FIRST_CARD), (there, SECOND, FIRST, _SECOND_CARD))
    for inside, own, other, card in sides:
        _run(*inside, "ip", "addr", "add", f"{own}/30", "dev", card)
        _run(*inside, "ip", "link", "set", card, "up")
        # Loopback addresses may leave and come in by the card, and are translated there.
        _run(*inside, "sysctl", "-qw", f"net.ipv4.conf.{card}.route_localnet=1")
        _nat(inside, "POSTROUTING", "-o", card, "-j", "SNAT", "--to-source", own)
        _nat(
            inside, "INPUT", "-p", "tcp", "-s", other, "-j", "SNAT", "--to-source", "127.0.0.1"
        )


def _forward(
    port: int, of: Sequence[str], to: str, there: Sequence[str], card_there: str
) -> None:
    """Forward *port* from loopback in the namespace *of* to loopback of the host *to*."""
    tcp = ("-p", "tcp", "--dport", str(port), "-j", "DNAT", "--to-destination")
    _nat(of, "OUTPUT", "-d", "127.0.0.1", *tcp, to)
    _nat(there, "PREROUTING", "-i", card_there, *tcp, "127.0.0.1")


def _nat(inside: Sequence[str], chain: str, *rule: str) -> None:
    _run(*inside, "iptables", "-t", "nat", "-A", chain, *rule)


def _run(*words: str) -> None:
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
