"""One live run on a brand, in four modules.

`state` says what is remembered of it, `rules` what follows from a command, `closing` how its
mail domains and the run itself end, `contacts` whom it shows.  Events and commands are those
of its brand: `cs.domain.brand.events`.
"""
