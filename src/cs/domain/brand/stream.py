"""Which stream a brand has."""

import hashlib

from cs.domain.contact import Query
from cs.domain.names.brand_names import cache_key


def brand_stream(query: Query) -> str:
    """Return the stream of the brand that *query* asks for, a hash of its cache key.

    >>> brand_stream(Query("NIKE")) == brand_stream(Query("nike"))
    True
    """
    key = cache_key(query.brand, query.domain)
    return f"brand-{hashlib.sha256(key.encode()).hexdigest()[:32]}"
