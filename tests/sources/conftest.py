from cli.conftest import here

__all__ = ["here"]
