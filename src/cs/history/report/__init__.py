"""The report: one page of figures about a period of the log.

`cs.history.report.reading.make_report` reads them in one pass; what is counted and how is in
`fold`, the shapes that come out are in `figures`.  Nothing of a person is in any of them.
"""
