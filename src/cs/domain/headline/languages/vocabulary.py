"""What one language contributes to the tables that headlines are read with."""

import msgspec


class Vocabulary(msgspec.Struct, frozen=True, kw_only=True):
    """The words of one language, each field written as for `cs.domain.names.phrases.Phrases`.

    Words are parted by white space; ``_`` is a space within a phrase, ``*`` any letters.
    They are compared without case and Latin accents, but those of ``past``, ``gone``,
    ``now``, ``wish``, ``wanted`` and ``leave`` only without case, for what they cut out of a
    headline is shown.

    Attributes:
        is_spaced: Whether there are spaces between words.  If not, words count wherever
            they stand.
        influencer, social, partnerships, brand: What names the family.
        not_social, not_brand, other_partners, other_work: What names none of them.
        intern, coordinator, manager, head, director, vp, c_level: What names the level.
        few: Named as heads, and yet managers: of a team, a branch, a project.
        senior: Makes a senior manager of a manager.
        under: Makes a coordinator of a manager: assistant, junior.
        creator: Influencers and creators themselves.
        trade, place: Other words of a role's scope: lines of work, and parts of the world.
        job: Jobs without a level of their own.
        past: From here on the text is about the past.
        gone: All of the part is, wherever this stands.
        now: From here on it is about today again.
        wish: From here on it is a wish, an offer or something to come.
        wanted: All of the part is, wherever this stands.
        leave: Parental leave, and the like: the role is still held.
        at: Before an employer's name.
    """

    is_spaced: bool = True
    influencer: str = ""
    social: str = ""
    partnerships: str = ""
    brand: str = ""
    not_social: str = ""
    not_brand: str = ""
    other_partners: str = ""
    other_work: str = ""
    intern: str = ""
    coordinator: str = ""
    manager: str = ""
    few: str = ""
    head: str = ""
    director: str = ""
    vp: str = ""
    c_level: str = ""
    senior: str = ""
    under: str = ""
    creator: str = ""
    trade: str = ""
    place: str = ""
    job: str = ""
    past: str = ""
    gone: str = ""
    now: str = ""
    wish: str = ""
    wanted: str = ""
    leave: str = ""
    at: str = ""
