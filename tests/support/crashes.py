"""Runs functions in processes that are killed, or told that the disk is full, at any step of theirs."""

import errno
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from edgekit import EdgeKitError

# What Python tells before it does it; what is written to a file is there when the file is closed.
_STEPS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir"}
_NEEDS_ROOM = {"open", "os.rename", "os.mkdir"}
REFUSED = 3
_UNNOTICED = 4


def in_child(function: Callable[[], object]) -> int:
    """The exit code of a process that calls the function, REFUSED after an error for users; minus the signal
    that killed it."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        code = function() or 0  # type: ignore[assignment]  # an exit code or nothing
    except EdgeKitError:
        code = REFUSED
    finally:
        os._exit(code)


def killed_at(step: int, folder: Path, function: Callable[[], object]) -> bool:
    """Call the function in a process that is killed before its given step below a folder, counted from 0.
    False if it ended before."""

    def kill() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    code = in_child(lambda: _stopped(step, folder, _STEPS, function, kill))
    assert code in (0, -signal.SIGKILL), f"step {step}: exit code {code}"
    return code != 0


def full_at(step: int, folder: Path, function: Callable[[], object]) -> bool:
    """Call the function in a process for which the disk is full at one step below a folder. False if it ended
    before. Only an error for users is right."""

    def fail() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    code = in_child(lambda: _stopped(step, folder, _NEEDS_ROOM, function, fail))
    assert code in (0, REFUSED), f"step {step}: exit code {code}"
    return code != 0


def _stopped(
    step: int, folder: Path, steps: set[str], function: Callable[[], object], stop: Callable[[], None]
) -> int:
    done = 0

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal done
        if event not in steps or str(folder) not in str(args[0]):
            return
        if steps is _NEEDS_ROOM and event == "open" and not args[2] & (os.O_WRONLY | os.O_RDWR):
            return
        if steps is _NEEDS_ROOM and event == "os.mkdir" and os.path.isdir(args[0]):
            return
        done += 1
        if done == step + 1:
            stop()

    sys.addaudithook(hook)  # there is no way to take it back: it ends with the process
    function()
    return _UNNOTICED if done > step else 0
