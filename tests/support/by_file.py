"""How processes of pytest-xdist share the tests."""

from xdist.scheduler import LoadFileScheduling

_BROWSERS = "tests/browser/"


class ByFile(LoadFileScheduling):
    """One process runs a whole file, and one all those of tests/browser: it starts the browsers, which take
    seconds. With --quick, each case goes to the process that is free: their order counts."""

    def _split_scope(self, nodeid: str) -> str:
        if self.config.getoption("--quick"):
            return nodeid
        file: str = super()._split_scope(nodeid)
        return _BROWSERS if file.startswith(_BROWSERS) else file
