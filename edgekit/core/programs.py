"""Where programs of this machine are: on PATH, and never in the working folder, which may be a stranger's."""

from __future__ import annotations

import os
import shutil


def find(name: str) -> str | None:
    """The path of a program. Windows would look into the working folder first, others where PATH has a
    relative entry: what came with a model must not run because it is called like a compiler."""
    if os.path.dirname(name):
        return shutil.which(name)
    folders = filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep))
    found = (shutil.which(os.path.join(folder, name)) for folder in folders)
    return next(filter(None, found), None)
