"""Cost and yield of a source or verifier: in one attempt, and in sum.  Pure.

The unit of money is the US dollar.  Settings, plug-ins and people have it as a number; what is
stored, added up or sent has whole millionths of it, in fields called ``micros``.
"""

from math import ceil

import msgspec

#: Millionths of a US dollar in one.
MICROS = 1_000_000


def micros_of(usd: float) -> int:
    """Return *usd* in whole millionths of a US dollar; only what is free becomes 0.

    >>> micros_of(0.004), micros_of(3 * 0.28), micros_of(0.0000001)
    (4000, 840000, 1)
    """
    return ceil(round(usd * MICROS, 3)) if usd >= 1 / MICROS else int(usd > 0)


class SourceCost(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Cost of one source or verifier in one attempt of a stage.  It names no person.

    Attributes:
        name: Of the source or verifier.
        asked: Questions that the stage put to it: searches, addresses.
        calls: Calls that the frame of paid services made for them, whether they were charged
            or not.  An answer that was known from before is none.
        micros: What those cost at most, in millionths of a US dollar.
        found: Brands or people that it named, mailboxes that it said take mail.
        used: Of those, what the stage goes on with: the brand if it has a field from there,
            people that no source before it had named, people verified by its word.
        expected_micros: What a verified e-mail from it was expected to cost when the order
            was made; ``None``: it is free, or nothing was expected.
    """

    name: str
    asked: int = 0
    calls: int = 0
    micros: int = 0
    found: int = 0
    used: int = 0
    expected_micros: int | None = None


class SourceFigures(msgspec.Struct, frozen=True, omit_defaults=True):
    """The sums of one source or verifier of one stage.

    Attributes:
        stage: That asks it.
        name: Of the source or verifier.
        asked, calls, micros, found, used: As `SourceCost` has them.
        verified: People with a verified e-mail that it named first, or whose e-mail it
            confirmed.
    """

    stage: str
    name: str
    asked: int = 0
    calls: int = 0
    micros: int = 0
    found: int = 0
    used: int = 0
    verified: int = 0

    def __add__(self, other: "SourceFigures") -> "SourceFigures":
        _, _, *ours = msgspec.structs.astuple(self)
        _, _, *theirs = msgspec.structs.astuple(other)
        return SourceFigures(self.stage, self.name, *map(sum, zip(ours, theirs, strict=True)))
