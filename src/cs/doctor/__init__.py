"""The checks of ``cs doctor``: each returns findings and raises nothing."""
