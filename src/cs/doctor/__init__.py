"""The checks of ``cs doctor``: what is right and wrong around the service.

Each check returns findings and raises nothing; `cs.assembly.examination` says which there are.
"""
