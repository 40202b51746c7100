"""A made-up outside world on loopback: DNS, mail servers, web sites, Wikidata, SearXNG."""
