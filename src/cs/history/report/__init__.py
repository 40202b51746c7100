"""``cs report``: each figure is a file of SQL here, over the tables of `cs.history.tables`.

`figures` reads and runs them; `page.html` and `cs.cli.report` show their rows.
"""
