"""Limits of the work and memory that a model may ask for, and the factor that raises all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from edgekit.core.errors import EdgeKitError

OPTION = "--raise-limits"
# Steps of work of one run in the simulator, each of about a nanosecond: so many, and so many for each byte of
# constants that the model holds.
FREE_RUN_WORK, RUN_WORK_PER_BYTE = 1 << 38, 1 << 10
_factor = ContextVar("factor", default=1.0)
_run_work = ContextVar("run_work", default=FREE_RUN_WORK)


@contextmanager
def raised_limits(factor: float) -> Iterator[None]:
    """Within this block, models may take `factor` times the work and memory that is the limit otherwise."""
    if not factor >= 1:
        raise EdgeKitError("E0103", f"limits cannot be raised {factor} times", hint="1 or more")
    token = _factor.set(factor)
    try:
        yield
    finally:
        _factor.reset(token)


@contextmanager
def shorter_runs(steps: int) -> Iterator[None]:
    """Within this block, operators whose work depends on data may take so many steps in a run."""
    token = _run_work.set(steps)
    try:
        yield
    finally:
        _run_work.reset(token)


def allows(limit: float, needed: float) -> bool:
    """Is so much within the limit, as the user has raised it?"""
    return needed <= limit * _factor.get()


def refuse_beyond(
    limit: float, needed: float, message: str, where: str = "", reason: str = "", *, growth: float = 1.0
) -> None:
    """Raise E0402 where more is needed than the limit. `reason` is a clause: what the limit is made of. In
    the end, `growth` times as much may be needed as it is known by now."""
    if allows(limit, needed):
        return
    times = math.ceil(growth * needed / limit) if limit > 0 else 2
    option = f"if it is meant so: {OPTION} {max(times, 2)}"
    raise EdgeKitError("E0402", message, where, f"{reason}; {option}" if reason else option)


def billions(steps: float) -> str:
    """A number of steps, as errors say it."""
    return f"{steps / 1e9:,.0f} billion steps"


class RunMeter:
    """Counts the steps of an operator whose work depends on data, while it runs, and refuses more than a run
    may take."""

    def __init__(self) -> None:
        self.limit, self.spent = _run_work.get(), 0

    def spend(self, steps: int) -> None:
        self.spent += steps
        message = f"with these data, it takes more than {billions(self.limit)}"
        refuse_beyond(self.limit, self.spent, message)
