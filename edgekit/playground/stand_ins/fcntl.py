"""File locks in a page, where there is one process."""

LOCK_SH, LOCK_EX, LOCK_NB, LOCK_UN = 1, 2, 4, 8


def flock(file: object, operation: int) -> None:
    """There is no other process to wait for."""
