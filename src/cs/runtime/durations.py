"""Durations in words for people."""


def in_words(value: float) -> str:
    """Return *value*, in seconds, as people say it.

    >>> [in_words(value) for value in (0.0412, 3.21, 75, 7200, 200_000)]
    ['41 ms', '3.2 s', '75 s', '2 h', '2.3 d']
    """
    if value < 1:
        return f"{value * 1000:.0f} ms" if value else "0 s"
    for least, unit, size in ((172_800, "d", 86_400), (7_200, "h", 3_600), (600, "min", 60)):
        if value >= least:
            return f"{round(value / size, 1):g} {unit}"
    return f"{value:.1f} s" if value < 10 and value % 1 else f"{value:.0f} s"
