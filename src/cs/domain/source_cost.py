"""What asking a source or a verifier cost, and what came of it.  Pure."""

import msgspec


class SourceCost(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one source or verifier cost in one attempt of a stage.  It names no person.

    Attributes:
        name: Of the source or verifier.
        asked: Questions that the stage put to it: searches, addresses.
        calls: Calls that the frame of paid services made for them, whether they were charged
            or not.  An answer that was known from before is none.
        micros: What those cost at most, in millionths of a US dollar.
        found: Brands or people that it named, mailboxes that it said take mail.
        used: Of those, what the stage goes on with: the brand if it has a field from there,
            people whom nobody before it had named, people verified by its word.
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
