"""Building blocks of pages that stand by themselves: one file, for a ticket or an audit.

A page asks nobody for anything: no script, no font, no picture; its policy forbids them all.
It is light or dark as its reader's system is, and is read on a phone, a screen and paper.

    from cs.history.page.blocks import badge, facts, section, table
    from cs.history.page.drawing import Lane, ValueRange, bars, lanes
    from cs.history.page.markup import el
    from cs.history.page.shell import page

    took = Lane("resolution", [ValueRange(0, 3.2)])
    written = page(
        "A week of searches",
        section("In short", facts([("Searches", 12), ("Failed", badge("2", "bad"))])),
        section("Where the time went", lanes([took], until=60)),
        section("By outcome", bars([("done", 10), ("no_emails", 2)])),
        section("Sources", table("Sources", ("Source", "Asked"), [("wikidata", 12)])),
        lead="1 to 7 March 2026",
    )  # bytes of UTF-8, ready for a file

Text is text: whatever is not made by `markup.el` is escaped, so a brand, a headline or what a
mail server said can be handed over as it is.  There are no ``style`` attributes, which the
policy forbids as well: looks are classes of ``page.css``.  Of a drawing the numbers stand in
text beside it, for whoever does not see it.
"""
