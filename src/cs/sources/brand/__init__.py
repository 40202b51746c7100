"""Brand sources: the bundled directory, Wikidata, the brand's own web site."""
