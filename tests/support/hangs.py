"""Where a test is that does not end: after ten minutes, the stack of every thread.

pytest's own `faulthandler_timeout` starts a thread for each test and waits for its end, which takes
milliseconds of each test where the cores are busy. Here, one timer is set anew once a minute.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import time

import pytest

SECONDS = 600
_REARM = 60  # so a test is shown after 540 to 600 seconds


class Watch:
    """The plugin that does so."""

    def __init__(self) -> None:
        stderr = sys.__stderr__  # sys.stderr may be no file: pytest and xdist put objects in its place
        self._stderr = os.dup(stderr.fileno()) if stderr else None
        self._set = 0.0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        now = time.monotonic()
        if self._stderr is not None and now - self._set > _REARM:
            faulthandler.dump_traceback_later(SECONDS, file=self._stderr)
            self._set = now

    def pytest_unconfigure(self) -> None:
        faulthandler.cancel_dump_traceback_later()
        if self._stderr is not None:
            os.close(self._stderr)
