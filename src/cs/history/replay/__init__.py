"""Apply other rules to recorded runs, and show what would differ.

`rules` loads the rules, and `replaying` applies them to the runs of a log.  Nothing is written,
and no outside service is asked.
"""
