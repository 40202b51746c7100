"""What a headline is read as, rule by rule."""

from cs.domain.roles.role import classify


def test_title_and_company_are_told_apart() -> None:
    role = classify("Head of Influencer Marketing at Acme")

    assert (role.title, role.company) == ("Head of Influencer Marketing", "Acme")
    assert (role.family, role.level, role.eligible) == ("influencer", "head", True)


def test_what_is_past_does_not_hide_what_is_now() -> None:
    role = classify("Former Brand Manager at Unilever | Now Head of Creators at Snap")

    assert (role.title, role.company) == ("Head of Creators", "Snap")


def test_a_role_before_a_wish_counts() -> None:
    assert classify("Brand Manager at Acme | Open to work").eligible


def test_an_eligible_role_goes_before_one_that_is_not() -> None:
    role = classify("Founder @ Small Batch Soap | Brand Manager at Weleda")

    assert (role.title, role.company) == ("Brand Manager", "Weleda")


def test_an_eligible_role_goes_before_one_too_low() -> None:
    role = classify("Social Media Intern at Costa | Brand Manager at Acme")

    assert role.company == "Acme"


def test_of_two_eligible_roles_the_first_counts() -> None:
    role = classify("Brand Manager at Acme | Head of Influencer at Zenith")

    assert role.company == "Acme"


def test_without_an_eligible_role_one_of_a_family_goes_first() -> None:
    role = classify("Barista at Costa | Social Media Intern at Acme")

    assert (role.family, role.level) == ("social", "intern")


def test_a_mere_calling_counts_only_alone() -> None:
    assert classify("Speaker | Brand Manager at Acme").title == "Brand Manager"
    assert classify("Speaker").title == "Speaker"


def test_topics_alone_are_no_role_but_name_a_family() -> None:
    role = classify("Influencer Marketing | Social | PR")

    assert (role.title, role.family, role.eligible) == (None, "influencer", False)


def test_nothing_is_read_into_nothing() -> None:
    role = classify("")

    assert (role.title, role.company, role.family, role.level) == (
        None,
        None,
        "other",
        "unknown",
    )


def test_eligible_people_score_above_the_rest_and_by_family() -> None:
    order = [
        "Influencer Marketing Manager",
        "Head of Social Media",
        "Social Media Manager",
        "Head of Partnerships",
        "Brand Director",
        "Brand Manager",
        "Chief Marketing Officer",
    ]
    scores = [classify(headline).score for headline in order]

    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(scores)
    assert scores[-1] == 0


def test_who_runs_it_scores_above_who_works_in_it() -> None:
    levels = ["Head of", "VP of", "Senior Manager of", "Manager of"]
    scores = [classify(f"{level} Brand Marketing").score for level in levels]

    assert scores == sorted(set(scores), reverse=True)
