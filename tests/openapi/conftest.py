collect_ignore = [
    "schemathesis_hooks.py"
]  # loaded by schemathesis, with the settings that are given there
