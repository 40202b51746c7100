"""Which loopback address everything of a world has."""

import ipaddress
from collections.abc import Callable
from random import SystemRandom

from cs.sandbox.dns import Zone
from cs.sandbox.mail_behaviour import Down, MailboxState
from cs.sandbox.shapes import MailHost, World, WorldMailDomain
from cs.sandbox.sites import hosts_of
from cs.sandbox.smtp import Mailboxes, MailServer


class Layout:
    """Addresses handed out one after the other from a random place in 127.0.0.0/8.

    The second and third octets are random, so that sandboxes run side by side.

    Attributes:
        zone: The names of the world.
        name_server, wikidata, searxng: Addresses of the services.
        web: Addresses of the sites that are up.
        names: Every host name of a site that is up, to the names on its certificate.
        mail: The mail servers that are not down, by address.
    """

    def __init__(self, world: World, clock: Callable[[], float]) -> None:
        random = SystemRandom()
        start = f"127.{random.randint(1, 254)}.{random.randint(0, 200)}.0"
        self._next = ipaddress.IPv4Address(start)
        self.zone = Zone()
        self.name_server = self._address()
        self.wikidata = self._address()
        self.searxng = self._address()
        self.web: list[str] = []
        self.names: dict[str, list[str]] = {}
        self.mail: dict[str, MailServer] = {}
        self._sites: dict[str, str] = {}
        for domain, names, up in _sites(world):
            self._site(domain, names, up=up)
        for mail in mail_domains(world):
            states = mailbox_states(world, mail)
            self._mail_domain(mail, Mailboxes(mail.domain, states, clock))

    def _address(self) -> str:
        self._next += 1
        return str(self._next)

    def _site(self, domain: str, names: list[str], *, up: bool) -> None:
        address = self._sites[domain] = self._address()
        for host in (domain, f"www.{domain}"):
            self.zone.host(host, address)
            if up:
                self.names[host] = names
        if up:
            self.web.append(address)

    def _mail_domain(self, mail: WorldMailDomain, mailboxes: Mailboxes) -> None:
        match mail.mx:
            case "null":
                self.zone.mail(mail.domain, [(0, ".")], mail.dns)
                return
            case "none":
                self.zone.mail(mail.domain, [], mail.dns)
                address = self._sites.get(mail.domain) or self._address()
                self._mail_host(MailHost(name=mail.domain), address, mail, mailboxes)
            case "records":
                hosts = mail.hosts or (MailHost(name=f"mx1.{mail.domain}"),)
                records = [(host.preference, host.name) for host in hosts]
                self.zone.mail(mail.domain, records, mail.dns)
                for host in hosts:
                    self._mail_host(host, self._address(), mail, mailboxes)

    def _mail_host(
        self, host: MailHost, address: str, mail: WorldMailDomain, mailboxes: Mailboxes
    ) -> None:
        self.zone.host(host.name, address)
        behaviour = host.behaviour or mail.behaviour
        if not isinstance(behaviour, Down):
            self.mail[address] = MailServer(host.name, behaviour, mailboxes)


def _sites(world: World) -> list[tuple[str, list[str], bool]]:
    """Return each domain of a site with the names on its certificate."""
    return [
        (domain, hosts_of(brand), brand.site.state == "up")
        for brand in world.brands
        for domain in (brand.domain, *brand.site.former)
    ]


def mail_domains(world: World) -> list[WorldMailDomain]:
    """Return every mail domain; one that the world does not describe is plain."""
    described = {mail.domain: mail for mail in world.mail}
    for brand in world.brands:
        for domain in (brand.domain, brand.mail_domain or brand.domain):
            described.setdefault(domain, WorldMailDomain(domain=domain))
    return list(described.values())


def mailbox_states(world: World, mail: WorldMailDomain) -> dict[str, MailboxState]:
    """Return the mailboxes of *mail*, by the part of their addresses before the @."""
    own = {
        person.mailbox
        for brand in world.brands
        if (brand.mail_domain or brand.domain) == mail.domain
        for person in brand.people
        if person.mailbox
    }
    states: dict[str, MailboxState] = dict.fromkeys(own, "open")
    return states | mail.mailboxes
