"""Facts by name, with the columns of their rows.

A fact is what one event says, as a row that needs no other event.  People are written down as
``<lookup>#p1``.
"""

from collections.abc import Mapping

#: By name, the columns of the rows: ``name:TYPE`` as DuckDB has it, text unless it is said.
FACTS: Mapping[str, str] = {
    "event": "position:BIGINT stream version:INTEGER type happened_at:TIMESTAMP lookup "
    "cause request message attempt:INTEGER timer command operator caused_by:BIGINT",
    "key_event": "position:BIGINT happened_at:TIMESTAMP key what label units:BIGINT operator",
    "admitted": "position:BIGINT happened_at:TIMESTAMP key search brand asked_brand "
    "asked_domain lookup request idempotent:BOOLEAN",
    "repeated": "position:BIGINT happened_at:TIMESTAMP key search",
    "settled": "position:BIGINT happened_at:TIMESTAMP key search lookup outcome "
    "charged:BOOLEAN cached:BOOLEAN",
    "started": "position:BIGINT happened_at:TIMESTAMP lookup stream number:INTEGER "
    "asked_brand asked_domain deadline_at:TIMESTAMP contacts:INTEGER",
    "resolved": "lookup status rules brand domain linkedin_company_url parent_company "
    "instagram tiktok mail_domains:VARCHAR[]",
    "finished": "position:BIGINT happened_at:TIMESTAMP lookup outcome reusable:BOOLEAN "
    "verified:INTEGER cut_off:BOOLEAN contacts:INTEGER",
    "issued": "position:BIGINT happened_at:TIMESTAMP lookup stage mail_domain "
    "attempt:INTEGER deadline_at:TIMESTAMP after_silence:BOOLEAN "
    "after_restart:BOOLEAN",
    "failed": "position:BIGINT happened_at:TIMESTAMP lookup stage mail_domain "
    "attempt:INTEGER why retry_at:TIMESTAMP causes",
    "answered": "position:BIGINT happened_at:TIMESTAMP lookup stage mail_domain",
    "source": "position:BIGINT happened_at:TIMESTAMP lookup stage source ended why",
    "cost": "position:BIGINT happened_at:TIMESTAMP lookup stage mail_domain place:INTEGER name "
    "asked:BIGINT calls:BIGINT micros:BIGINT found:BIGINT used:BIGINT expected_micros:BIGINT",
    "found": "position:BIGINT happened_at:TIMESTAMP lookup person who sources:VARCHAR[] "
    "full_name headline company linkedin_url location",
    "who": "person who",
    "ranked": "lookup person place:INTEGER rules title family level",
    "left_out": "person why",
    "shown": "person place:INTEGER verified:BOOLEAN",
    "checked": "position:BIGINT happened_at:TIMESTAMP lookup person verified:BOOLEAN "
    "mail_domain verdict verifier rule rules asked:INTEGER address",
    "evidence": "position:BIGINT n:INTEGER happened_at:TIMESTAMP lookup person mail_domain "
    "verdict rule rules verifier mx answered:BOOLEAN retry_in_s:DOUBLE address "
    "conversation",
    "learned": "position:BIGINT happened_at:TIMESTAMP mail_domain catch_all:BOOLEAN "
    "greylists:BOOLEAN one_recipient:BOOLEAN pattern expires_at:TIMESTAMP",
    "bounce": "position:BIGINT happened_at:TIMESTAMP mail_domain bounced_at:TIMESTAMP kind why "
    "status pattern",
    "bounced": "position:BIGINT happened_at:TIMESTAMP lookup person bounced_at:TIMESTAMP why "
    "status verifier rule rules verified_at:TIMESTAMP address diagnostic",
    "erased": "person",
}


def columns_of(fact: str) -> list[tuple[str, str]]:
    """Return name and type of each column of *fact*.

    >>> columns_of("left_out")
    [('person', 'VARCHAR'), ('why', 'VARCHAR')]
    """
    words = (word.partition(":") for word in FACTS[fact].split())
    return [(name, kind or "VARCHAR") for name, _, kind in words]
