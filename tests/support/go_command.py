"""The go command without a network; what was compiled before is kept where the tests keep theirs."""

from pathlib import Path

from support import object_cache


def settings(folder: Path) -> dict[str, str]:
    """The environment."""
    kept = object_cache.folder() or folder.parent
    return {
        "GOCACHE": str(kept / "go"),
        "GOFLAGS": "-trimpath",
        "GOPATH": str(folder / "path"),
        "GOPROXY": "off",
    }
