"""The `cs` command."""

from cs.cli.app import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
