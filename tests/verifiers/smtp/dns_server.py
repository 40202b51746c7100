"""A DNS server on loopback, UDP and TCP, that answers from a dictionary."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

from cs.sandbox.dns import name_server
from harness.servers.ports import free_ports

Trouble = Literal["SERVFAIL", "REFUSED", "SILENCE", "GARBAGE", "TRUNCATED"]


class Zone:
    """Names and their records; a name that is not in it does not exist.

    ``add("acme.test", MX=["10 mx.acme.test."], A=["127.1.2.3"])``
    """

    def __init__(self) -> None:
        self.records: dict[str, dict[str, list[str]]] = {}
        self.troubles: dict[tuple[str, str], Trouble] = {}
        self.asked: Counter[tuple[str, str]] = Counter()
        self.ttl = 60
        self.address = ("", 0)

    def add(self, name: str, **records: list[str]) -> None:
        self.records.setdefault(name.lower(), {}).update(records)

    def trouble(self, name: str, kind: str, trouble: Trouble) -> None:
        self.troubles[name.lower(), kind] = trouble

    def answer(self, wire: bytes, tcp: bool) -> bytes | None:
        query = dns.message.from_wire(wire)
        question = query.question[0]
        name = question.name.to_text(omit_final_dot=True).lower()
        kind = dns.rdatatype.to_text(question.rdtype)
        self.asked[name, kind] += 1
        response = dns.message.make_response(query)
        response.flags |= dns.flags.RA
        match self.troubles.get((name, kind)):
            case "SILENCE":
                return None
            case "GARBAGE":
                return b"\x00\x01garbage"
            case "SERVFAIL":
                response.set_rcode(dns.rcode.SERVFAIL)
                return response.to_wire()
            case "REFUSED":
                response.set_rcode(dns.rcode.REFUSED)
                return response.to_wire()
            case "TRUNCATED" if not tcp:
                response.flags |= dns.flags.TC
                return response.to_wire()
            case _:
                pass
        self._fill(response, name, kind)
        return response.to_wire()

    def _fill(self, response: dns.message.Message, name: str, kind: str) -> None:
        for _ in range(20):
            records = self.records.get(name)
            if records is None:
                response.set_rcode(dns.rcode.NXDOMAIN)
                return
            if "CNAME" in records:
                target = records["CNAME"][0]
                response.answer.append(
                    dns.rrset.from_text(f"{name}.", self.ttl, "IN", "CNAME", target)
                )
                name = target.rstrip(".").lower()
                continue
            if texts := records.get(kind):
                response.answer.append(
                    dns.rrset.from_text_list(f"{name}.", self.ttl, "IN", kind, texts)
                )
            return


@asynccontextmanager
async def dns_server(address: str = "127.77.53.1") -> AsyncIterator[Zone]:
    """Serve a zone; ``zone.address`` says where."""
    zone = Zone()
    zone.address = address, free_ports(1)[0]
    async with name_server(zone.answer, *zone.address):
        yield zone
