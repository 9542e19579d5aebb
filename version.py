"""The version of Weft, the one of `pyproject.toml`. Imports nothing."""

__version__ = "0.1.0"
