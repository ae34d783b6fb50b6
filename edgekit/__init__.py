"""EdgeKit turns trained models into small, readable C libraries."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        """Look the version up when it is asked for: importlib.metadata would add 40 ms to every start."""
        if name == "__version__":
            from importlib.metadata import version

            return version("edgekit")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
