"""What this stage finds: who of the people found at a brand is worth a search for a mailbox.

Change this file, and `STAGE`, for a stage of your own; stage.py stays as it is.
"""

import re
from typing import Any

#: The stage whose work is done here: its topic and consumer group are called like it.
STAGE = "ranking"

WANTED = {"influencer", "influencers", "creator", "creators"}
LEVELS = {"chief": "c_level", "vp": "vp", "director": "director", "head": "head"}


async def answer(given: dict[str, Any]) -> dict[str, Any]:
    """Return the result for the input *given*.

    Keeps nothing between two calls, so that the same work has the same answer wherever it is
    done.  Cancelled at the deadline of the work.
    """
    read = [(person, _words(person.get("headline") or "")) for person in given["people"]]
    fits = [(person, words) for person, words in read if words & WANTED]
    others = [person for person, words in read if not words & WANTED]
    shown = given.get("contacts", 25)
    return {
        "type": "ranked",
        "ranked": [
            {
                "personal": "ranked",
                "person": person["person"],
                "title": person["headline"].partition(" at ")[0],
                "family": "influencer",
                "level": next((LEVELS[word] for word in LEVELS if word in words), "manager"),
                "score": 0.75,
            }
            for person, words in fits[:shown]
        ],
        "left_out": [
            *({"person": person["person"], "why": "over-limit"} for person, _ in fits[shown:]),
            *({"person": person["person"], "why": "not-eligible"} for person in others),
        ],
    }


def _words(headline: str) -> set[str]:
    return set(re.findall(r"\w+", headline.lower()))
