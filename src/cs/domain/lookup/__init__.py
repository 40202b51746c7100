"""One live run on a brand: `state` remembers, `rules` decide, `contacts` are its people.

`rules` has all that differs from stage to stage, so that a new stage is written into one
module of these (docs/extending.md) and its `state`.
"""
