"""The `cs` command."""


def main() -> None:
    raise SystemExit("not yet")
