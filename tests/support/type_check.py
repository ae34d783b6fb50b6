"""mypy with a cache beside that of objects: modules are known by their content, in any checkout."""

import fcntl
import subprocess
from pathlib import Path

from support import object_cache
from support.tools import require


def mypy(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What it says of a checkout. Processes that use its cache take turns."""
    command = [require("mypy"), "--no-error-summary", *arguments]
    if not (kept := object_cache.folder()):
        return subprocess.run(command, cwd=folder, capture_output=True, text=True)
    kept.mkdir(parents=True, exist_ok=True)
    with open(kept / "mypy.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command.append(f"--cache-dir={kept / 'mypy'}")
        return subprocess.run(command, cwd=folder, capture_output=True, text=True)
