"""What can go wrong in the pipeline and is nobody else's error."""

from cs.domain.stages.work import Outcome


class ForgedOutcome(Exception):
    """An outcome from a sender to whom the work that it answers was not issued.

    Attributes:
        outcome: As it came.
    """

    def __init__(self, outcome: Outcome) -> None:
        super().__init__("an outcome of work that was not issued to its sender")
        self.outcome = outcome
