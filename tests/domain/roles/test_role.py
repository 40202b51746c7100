"""What a headline is read as, rule by rule."""

import pytest

from cs.domain.roles.labels import family_of, level_of
from cs.domain.roles.role import classify


def test_title_and_company_are_told_apart() -> None:
    role = classify("Head of Influencer Marketing at Acme")

    assert (role.title, role.company) == ("Head of Influencer Marketing", "Acme")
    assert (role.family, role.level, role.eligible) == ("influencer", "head", True)


@pytest.mark.parametrize(
    "headline",
    [
        "Former Head of Social at Acme",
        "ex-Head of Social @ Acme",
        "Head of Social at Acme (2019–2022)",
        "Ehemalige Leiterin Social Media bei Acme",
        "Ancienne directrice de marque chez Acme",
        "Antes gerente de marca en Acme",
        "Già Brand Manager presso Acme",
        "Tidigare Head of Social på Acme",
        "元資生堂 ブランドマネージャー",
        "전 네이버 브랜드 팀장",
    ],
)
def test_a_past_role_is_no_role(headline: str) -> None:
    role = classify(headline)

    assert (role.title, role.eligible) == (None, False)


@pytest.mark.parametrize(
    "headline",
    [
        "Open to work | Social Media Manager",
        "Seeking Brand Manager roles",
        "Auf Jobsuche: Brand Manager",
        "En recherche d'un poste de chef de marque",
        "Busco empleo como Social Media Manager",
        "求職中 | ブランドマネージャー",
    ],
)
def test_a_wish_is_no_role(headline: str) -> None:
    assert classify(headline).title is None


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


@pytest.mark.parametrize(
    "headline",
    [
        "Account Manager at The Influencer Agency",
        "Account Manager, The Influencer Agency",
        "Account Manager | Social Element",
        "Finance Manager @ Brandwatch",
    ],
)
def test_the_name_of_a_firm_decides_no_family(headline: str) -> None:
    assert classify(headline).family == "other"


@pytest.mark.parametrize(
    "headline", ["EA to Head of Brand at Acme", "Assistentin der Geschäftsführung bei Acme"]
)
def test_who_helps_a_leader_is_a_coordinator(headline: str) -> None:
    role = classify(headline)

    assert (role.family, role.level) == ("other", "coordinator")


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


@pytest.mark.parametrize(
    ("role", "family"),
    [
        ("Social & Influencer Manager", "influencer"),
        ("Brand & Social Lead", "social"),
        ("Head of Brand Partnerships", "partnerships"),
        ("Brand Ambassador Program Manager", "influencer"),
        ("Brand Ambassador", "other"),
        ("Content Creator", "other"),
        ("Social Media Manager & Content Creator", "social"),
        ("Founder, Influencer Marketing Agency", "other"),
        ("Founder & Chief Brand Officer", "brand"),
        ("Technology Partnerships Manager", "other"),
        ("Media Partnerships Manager", "partnerships"),
        ("Apartment Community Manager", "other"),
        ("Discord Community Manager", "social"),
        ("Corporate Social Responsibility Manager", "other"),
        ("Director of Brand Design", "other"),
        ("Brand and Product Marketing Manager", "brand"),
        ("Product Manager, Creator Tools", "other"),
        ("Trabajadora social", "other"),
        ("Responsable réseaux sociaux", "social"),
        ("Markenrechtlerin", "other"),
        ("品牌总监", "brand"),
        ("KOL营销总监", "influencer"),
    ],
)
def test_family(role: str, family: str) -> None:
    assert family_of(role).value == family


@pytest.mark.parametrize(
    ("role", "level"),
    [
        ("SVP, Head of Brand", "vp"),
        ("Head & Director of Brand", "head"),
        ("Director & Head of Brand", "director"),
        ("Co-Founder & Head of Partnerships", "c_level"),
        ("Assistant Brand Manager", "coordinator"),
        ("Associate Director", "director"),
        ("Senior Social Media Specialist", "coordinator"),
        ("Sr. Social Media Mgr", "senior_manager"),
        ("Trainee Brand Manager", "intern"),
        ("Teamleiterin Social Media", "manager"),
        ("Marketingleiterin", "head"),
        ("Lead Generation Specialist", "coordinator"),
        ("Chief of Staff", "unknown"),
        ("General Manager, Brand", "director"),
        ("Vice President", "vp"),
        ("President", "c_level"),
        ("副总裁", "vp"),
        ("本部長", "head"),
        ("部長", "director"),
        ("차장", "senior_manager"),
    ],
)
def test_level(role: str, level: str) -> None:
    assert level_of(role).value == level
