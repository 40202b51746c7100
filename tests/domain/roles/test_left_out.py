"""Why somebody is not shown: each kind that is found for a brand, in several languages."""

from hypothesis import given
from hypothesis import strategies as st

from cs.domain.contact import BrandFacts, Person
from cs.domain.ranking import rank

ACME = BrandFacts(name="Acme", parent_company="Zenith Group")
#: Why, headline, company as a source says.
PEOPLE = (
    ("former", "Former Head of Social at Acme", None),
    ("former", "ex-Acme | Head of Brand at Globex", None),
    ("former", "Ehemals Leiterin Social Media bei Acme", None),
    ("former", "Ancien responsable influence chez Acme", None),
    ("former", "Social Media Manager at Acme (2019-2021)", None),
    ("former", "Previously Influencer Marketing Manager at Globex", None),
    ("former", "Head of Social Media, formerly at Acme", None),
    ("former", "Head of Social Media, formerly at Acme | Head of Social at Globex", None),
    ("former", "Brand Manager | ex-Globex, Acme", None),
    ("former", "Brand Manager (früher Zenith Group)", None),
    ("namesake", "Head of Social at Acme Robotics", None),
    ("namesake", "Brand Manager", "Acme Robotics"),
    ("namesake", "Influencer Marketing Manager", "Cafe Acme"),
    ("agency", "Head of Influencer Marketing at The Social Agency", None),
    ("agency", "Influencer Manager", "Bright Agentur"),
    ("agency", "Directrice de l'influence chez Agence Lumière", None),
    ("creator", "Content Creator | 100k followers", "Acme"),
    ("creator", "Beauty & lifestyle influencer", None),
    ("creator", "Creadora de contenido", None),
    ("creator", "Travel blogger & photographer", None),
    ("recruiter", "Recruiter for marketing roles at Acme", "Acme"),
    ("recruiter", "Personalberaterin", None),
    ("recruiter", "Chasseur de têtes, influence et social", None),
    ("seller", "Account Executive - influencer marketing platform", None),
    ("seller", "Founder of an influencer marketing SaaS", None),
    ("seller", "Head of Influencer Partnerships at Upfluence, the influencer platform", None),
    ("seller", "Sales Manager, influencer marketing software", None),
    ("other-company", "Head of Social at Globex", None),
    ("other-company", "Head of Social", "Acmeologists"),
    ("not-eligible", "Head of Finance at Acme", None),
    ("not-eligible", "Influencer Marketing Coordinator at Acme", None),
    ("not-eligible", "", None),
)


def person(headline: str, company: str | None = None) -> Person:
    return Person(person="p1", full_name="Jo Lime", headline=headline, company=company)


def test_each_kind_has_its_reason() -> None:
    wrong = []
    for why, headline, company in PEOPLE:
        shown, left = rank(ACME, [person(headline, company)])
        if shown or [each.why for each in left] != [why]:
            wrong.append((why, headline, company, left))

    assert not wrong


words = st.sampled_from(
    [
        *("former", "ex-", "Head", "of", "Social", "at", "Acme", "Globex", "agency", "Brand"),
        *("recruiter", "influencer", "creator", "platform", "|", ",", " - ", "(2019-2021)"),
        *("Manager", "sales", "Agentur"),
    ]
)


@given(st.lists(words, max_size=10).map(" ".join), st.sampled_from([None, "Acme", "Globex"]))
def test_everybody_found_is_shown_or_left_out_for_one_reason(
    headline: str, company: str | None
) -> None:
    shown, left = rank(ACME, [person(headline, company)])

    assert [each.person for each in shown] + [each.person for each in left] == ["p1"]
