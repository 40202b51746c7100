collect_ignore = ["schemathesis_hooks.py"]  # loaded by schemathesis, with what it is told there
