"""Which of several roles counts, and its worth."""

from cs.domain.roles.role import classify

#: Headline; title, company, family and level read of it.
ROLES = {
    "Head of Influencer Marketing at Acme": (
        *("Head of Influencer Marketing", "Acme", "influencer", "head"),
    ),
    "Former Brand Manager at Unilever | Now Head of Creators at Snap": (
        *("Head of Creators", "Snap", "influencer", "head"),
    ),
    "Brand Manager at Acme | Open to work": ("Brand Manager", "Acme", "brand", "manager"),
    # One that qualifies counts before others, else one of a family; of several the first.
    "Founder @ Small Batch Soap | Brand Manager at Weleda": (
        *("Brand Manager", "Weleda", "brand", "manager"),
    ),
    "Social Media Intern at Costa | Brand Manager at Acme": (
        *("Brand Manager", "Acme", "brand", "manager"),
    ),
    "Brand Manager at Acme | Head of Influencer at Zenith": (
        *("Brand Manager", "Acme", "brand", "manager"),
    ),
    "Barista at Costa | Social Media Intern at Acme": (
        *("Social Media Intern", "Acme", "social", "intern"),
    ),
    "Speaker | Brand Manager at Acme": ("Brand Manager", "Acme", "brand", "manager"),
    "Speaker": ("Speaker", None, "other", "unknown"),
    # Lines of work alone are no role, but name a family.
    "Influencer Marketing | Social | PR": (None, None, "influencer", "unknown"),
    "": (None, None, "other", "unknown"),
}


def test_of_several_roles_the_one_that_qualifies_counts() -> None:
    read = {
        headline: (role.title, role.company, role.family, role.level)
        for headline in ROLES
        for role in [classify(headline)]
    }

    assert read == ROLES


def test_a_role_is_worth_its_family_then_its_level() -> None:
    by_family = [
        *("Influencer Marketing Manager", "Head of Social Media", "Social Media Manager"),
        *("Head of Partnerships", "Brand Director", "Brand Manager", "Chief Marketing Officer"),
    ]
    levels = ["Head of", "VP of", "Senior Manager of", "Manager of"]
    for headlines in (by_family, [f"{level} Brand Marketing" for level in levels]):
        scores = [classify(headline).score for headline in headlines]
        assert scores == sorted(set(scores), reverse=True)
    assert classify(by_family[-1]).score == 0
