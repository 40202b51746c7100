"""What can go wrong in the pipeline and is nobody else's error."""

from cs.domain.stages.work import Outcome


class ForgedOutcome(Exception):
    """An outcome from somebody who was not given the work that it answers.

    Attributes:
        outcome: As it came.
    """

    def __init__(self, outcome: Outcome) -> None:
        super().__init__("an outcome of work that its sender was not given")
        self.outcome = outcome
