"""A search of the sandbox compares few pages, and finds what comparing all would."""

from cs.sandbox.page_index import PageIndex
from cs.sandbox.search_query import QueryMatcher, read_query
from cs.sandbox.world import load


def test_what_is_found_is_what_comparing_every_page_finds() -> None:
    world = load(None)
    index = PageIndex(world, "searxng")
    names = [brand.name for brand in world.brands]
    forms = (
        'site:linkedin.com/in "{0}" (influencer OR "social media") -intern',
        '"{0}" OR "{1}" "LinkedIn"',
        '"{0}" "&"',
        '"{2}"',
        "{0} official",
        'site:linkedin.com/company "{0}"',
    )
    wrong, answered = [], 0
    for n, name in enumerate(names):
        for form in forms:
            query = form.format(name, names[n - 1], name[:3])
            matcher = QueryMatcher(read_query(query))
            expected = {
                each.page.url
                for each in index._index
                if matcher.score(each.address, each.folded)
            }
            found = [page.url for page in index.find(query)]
            answered += bool(found)
            if len(found) != len(expected) or set(found) != expected:
                wrong.append(query)

    assert wrong == []
    assert answered > len(names)
