import pytest

from cs.sources.people_directory.importing import lacking
from cs.sources.tables.table_file import FIELDS, columns_of

PEOPLE = FIELDS["people"]

LINKEDIN = "First Name,Last Name,URL,Email Address,Company,Position,Connected On"
APOLLO = (
    "First Name,Last Name,Title,Company,Company Name for Emails,Email,Email Status,Seniority,"
    "# Employees,Industry,Person Linkedin Url,Website,Company Linkedin Url,City,State,Country"
)
HUBSPOT = (
    "Record ID,First Name,Last Name,Email,Phone Number,Job Title,Company Name,Website URL,"
    "LinkedIn URL,Last Modified Date,Preferred language"
)
PHANTOM = "profileUrl,defaultProfileUrl,fullName,firstName,lastName,companyName,title,location"
EVABOOT = (
    "First Name,Last Name,Current Job,Headline,Company Name,Company Domain,Email,Location,"
    "Linkedin URL,Company Linkedin URL"
)
PLAIN = "full_name;headline;company;domain;profile;e-mail;as of"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (LINKEDIN, {"profile": "URL", "email": "Email Address", "title": "Position"}),
        (
            APOLLO,
            {
                "company": "Company Name for Emails",
                "profile": "Person Linkedin Url",
                "domain": "Website",
                "city": "City",
                "country": "Country",
            },
        ),
        (
            HUBSPOT,
            {
                "title": "Job Title",
                "domain": "Website URL",
                "profile": "LinkedIn URL",
                "as_of": "Last Modified Date",
                "language": "Preferred language",
            },
        ),
        (PHANTOM, {"full_name": "fullName", "profile": "defaultProfileUrl"}),
        (EVABOOT, {"title": "Current Job", "headline": "Headline", "location": "Location"}),
        (PLAIN, {"full_name": "full_name", "email": "e-mail", "as_of": "as of"}),
    ],
)
def test_columns_of_common_exports_are_known(header: str, expected: dict[str, str]) -> None:
    found = columns_of(header.replace(";", ",").split(","), PEOPLE)

    assert expected.items() <= found.items()
    assert lacking(found) is None


def test_what_somebody_chose_counts() -> None:
    header = ["Wer", "Name", "LinkedIn", "Firma", "Title"]

    chosen = {"full_name": "Wer", "company": "firma", "title": ""}
    found = columns_of(header, PEOPLE, chosen)

    assert found == {"full_name": "Wer", "profile": "LinkedIn", "company": "Firma"}
    for wrong, told in ({"nick": "Wer"}, "nick"), ({"title": "Rolle"}, "Rolle"):
        with pytest.raises(ValueError, match=told):
            columns_of(header, PEOPLE, wrong)


def test_what_is_lacking_is_said() -> None:
    told = [
        lacking(columns_of(header.split(","), PEOPLE))
        for header in ("linkedin,company", "name,company", "name,linkedin", "name,email")
    ]

    assert [each and each.rpartition("--column ")[2].partition("=")[0] for each in told] == [
        *("full_name", "profile", "company"),
        None,
    ]
