"""One live run on a brand, in five modules.

`state` says what is remembered of it, `rules` what follows from a command, `retry_times` when
a failed attempt is made again, `closing` how its mail domains and the run itself end,
`contacts` decides which people it shows.  Events and commands are those of its brand:
`cs.domain.brand.events`.

`rules` has all that differs from stage to stage, so that a new stage is written into one
module of these (docs/extending.md) and its `state`.
"""
