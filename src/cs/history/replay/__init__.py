"""Apply other rules to recorded runs, and show what would differ.

`rules` loads the rules, `comparing` applies them to one run, and `replaying` goes through the
log.  Nothing is written, and no outside service is asked.
"""
