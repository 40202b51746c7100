"""Where mail for a domain goes: which addresses may be asked, in which order."""

import asyncio

import msgspec

from cs.domain.names.brand_names import is_host_name
from cs.plugins.verifiers import AddressGuard, Forbidden, MailHosts, Resolver, Unreachable

#: Exchangers of one domain, and addresses of one exchanger, that are tried.
_HOSTS = 5
_ADDRESSES = 2


class MxAddress(msgspec.Struct, frozen=True):
    """One address of a mail exchanger."""

    host: str
    address: str
    port: int


class MailRoute(msgspec.Struct, frozen=True):
    """The addresses of one mail domain's exchangers, in order of preference."""

    mx_addresses: tuple[MxAddress, ...]
    forbidden: bool  # the guard refused an address, or a host's name is none
    unanswered: bool  # an exchanger's address could not be found out


async def find_route(
    mail: MailHosts, resolver: Resolver, guard: AddressGuard, port: int
) -> MailRoute:
    """Return where *mail* goes, every address judged by *guard*.  Never raises."""
    hosts = [host for host in mail.hosts if is_host_name(host)][:_HOSTS]
    async with asyncio.TaskGroup() as group:
        lookups = [group.create_task(_addresses(host, resolver)) for host in hosts]
    mx_addresses, unanswered = [], False
    forbidden = not all(map(is_host_name, mail.hosts))
    for host, lookup in zip(hosts, lookups, strict=True):
        found = lookup.result()
        unanswered = unanswered or found is None
        open_ones = [address for address in found or () if _is_open(address, guard)]
        forbidden = forbidden or len(open_ones) < len(found or ())
        mx_addresses += [MxAddress(host, address, port) for address in open_ones[:_ADDRESSES]]
    return MailRoute(tuple(mx_addresses), forbidden, unanswered)


async def _addresses(host: str, resolver: Resolver) -> tuple[str, ...] | None:
    try:
        return await resolver.addresses(host)
    except Unreachable:
        return None


def _is_open(address: str, guard: AddressGuard) -> bool:
    try:
        guard.check(address)
    except Forbidden:
        return False
    return True
