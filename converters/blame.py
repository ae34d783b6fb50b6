"""Whatever goes wrong while a model is read is said of a part of the model, never as a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from edgekit.core.errors import EdgeKitError
from edgekit.core.reasons import reason_of

HINT = "export the model again; if other software runs this file, please report it"


@contextmanager
def blame(where: str) -> Iterator[None]:
    """Whatever goes wrong inside is said of this part of the model, which any exporter, or a fuzzer, may have
    made. The first exception stays attached for those who look for the reason."""
    try:
        yield
    except EdgeKitError as error:
        error.where = error.where or where
        raise
    except MemoryError as error:
        raise EdgeKitError("E0402", "takes more memory than there is", where) from error
    except RecursionError as error:
        raise EdgeKitError("E0402", "is nested without end", where) from error
    except Exception as error:  # files hold what no exporter would make; never a traceback
        raise EdgeKitError("E0403", f"this part makes no sense: {reason_of(error)}", where, HINT) from error
