from plugins.installed import install

__all__ = ["install"]
