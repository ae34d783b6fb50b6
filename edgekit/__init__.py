"""EdgeKit turns trained models into small, readable C libraries."""

from importlib.metadata import version

__version__ = version("edgekit")
