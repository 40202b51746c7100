"""A search with its evidence, as it is shown: JSON, a page, and text are made of one value.

Who is sealed is sealed here: what is made of the value cannot show more than is in it.
"""
