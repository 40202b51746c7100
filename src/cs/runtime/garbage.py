"""How often Python looks for garbage that holds on to itself.

What a process has imported and warmed up stays, and calls leave next to no such garbage: yet
with Python's own numbers every 700 new objects are looked through, and at times all there are.
"""

import gc

#: New objects after which the youngest are looked through; a call makes some hundreds, which
#: go by themselves.
YOUNG = 5_000
#: So many such looks make one at those that survived some, and so many of these one at all.
MIDDLE, ALL = 10, 10


def collect_seldom() -> None:
    """Leave what is there now alone for good, and look through what comes less often.

    For a process that has started and now serves.
    """
    gc.collect()
    gc.freeze()
    # Python looks at all only if what survived since is a quarter of what it found then.
    gc.collect()
    gc.set_threshold(YOUNG, MIDDLE, ALL)
