"""The history: the event log as of any time, for analysts.

`cs.history.history.History` reads it: events selected and in order, the state of any stream
as of any position.  Everything here reads and nothing writes, next to a running service or
without one, in bounded memory.  People stay sealed unless they are asked for.
"""
