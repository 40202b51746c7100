from cli.conftest import here
from plugins.installed import install

__all__ = ["here", "install"]
