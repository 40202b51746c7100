"""What is remembered of DNS: for as long as it is true, and no more than there is room for."""

import dns.message
import dns.name
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.resolver
import dns.rrset
import pytest

from cs.metrics.metrics import Metrics
from cs.outside.dns_answers import ANSWERS, LONGEST_S, DnsAnswers, NoSuchName

A, ANY, IN = dns.rdatatype.A, dns.rdatatype.ANY, dns.rdataclass.IN
DAY_S = 86_400.0


def answer(
    name: dns.name.Name, kind: dns.rdatatype.RdataType, response: dns.message.Message
) -> dns.resolver.Answer:
    """Return *response* as dnspython takes it from a name server."""
    received = dns.message.from_wire(response.to_wire())
    assert isinstance(received, dns.message.QueryMessage)
    return dns.resolver.Answer(name, kind, IN, received)


class World:
    """Answers come at a time that is moved by hand."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.metrics = Metrics()
        self.answers = DnsAnswers(lambda: self.now_s, self.metrics)

    @property
    def entries(self) -> float:
        return self.metrics.cache_entries.read()["dns-answers",].value

    def come(self, name: str, records: int = 1, ttl: int = 60) -> None:
        """Have *name* answered with so many addresses."""
        asked = dns.name.from_text(name)
        question = dns.message.make_query(asked, A)
        response = dns.message.make_response(question)
        addresses = [f"192.0.2.{n}" for n in range(1, records + 1)]
        response.answer.append(dns.rrset.from_text_list(asked, ttl, IN, A, addresses))
        self.answers.put((asked, A, IN), answer(asked, A, response))

    def find(self, name: str) -> int | None:
        found = self.answers.find(dns.name.from_text(name), A)
        return None if found is None else len(found)


@pytest.mark.slow
def test_a_month_of_other_names_leaves_those_of_the_last_minutes() -> None:
    world, most = World(), 0.0
    for day in range(30):
        for n in range(40):
            world.come(f"brand{n}.day{day}.test", ttl=3_600)
        most = max(most, world.entries)
        world.now_s += DAY_S

    assert most == 40
    assert world.find("brand1.day29.test") is None


@pytest.mark.slow
def test_however_many_names_come_at_once_there_is_a_bound() -> None:
    world = World()
    for n in range(ANSWERS + 10):
        world.come(f"brand{n}.test")

    assert world.entries == world.metrics.cache_limit.read()["dns-answers",].value == ANSWERS
    assert (world.find("brand9.test"), world.find("brand10.test")) == (None, 1)


@pytest.mark.parametrize(("ttl", "for_s"), [(60, 60), (3_600, LONGEST_S), (0, 0)])
def test_an_answer_serves_as_long_as_it_says_and_no_longer_than_some_minutes(
    ttl: int, for_s: float
) -> None:
    world = World()
    world.come("acme.test", records=2, ttl=ttl)

    world.now_s = for_s - 1  # the machine's clock has gone on a little, too
    assert world.find("acme.test") == (2 if for_s else None)
    world.now_s = for_s
    assert world.find("acme.test") is None


def test_a_response_with_very_many_records_is_not_kept() -> None:
    world = World()
    world.come("many.test", records=101)
    world.come("some.test", records=100)

    assert (world.find("many.test"), world.find("some.test")) == (None, 100)


def test_of_a_name_that_is_not_there_all_kinds_are_known() -> None:
    world = World()
    asked = dns.name.from_text("gone.test")
    response = dns.message.make_response(dns.message.make_query(asked, A))
    response.set_rcode(dns.rcode.NXDOMAIN)
    soa = "ns.test. admin.test. 1 2 3 4 30"
    response.authority.append(dns.rrset.from_text("test.", 30, IN, "SOA", soa))
    world.answers.put((asked, ANY, IN), answer(asked, ANY, response))

    for kind in (A, dns.rdatatype.MX):
        with pytest.raises(NoSuchName):
            world.answers.find(asked, kind)
    world.now_s = 30
    assert world.find("gone.test") is None
