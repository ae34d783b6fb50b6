"""Files made to do harm: what a case is, and how archives and changed samples are made."""

import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.exports import SAMPLES

Content = bytes | str
# How Python writes objects, and words of its own exceptions: users read neither.
PYTHON = re.compile(
    r"(?<!\w)[A-Z]\w+\(\w+=|(?<!\w)b['\"]\\x| object at 0x|(?<!\w)np\.\w+\(|dtype\(|Traceback|Error\("
    r"|object is not|object has no attribute|unsupported operand|positional argument|not subscriptable"
    r"|is not in list|invalid literal for|codec can't|out of range for|cannot be interpreted"
)


@dataclass(frozen=True)
class Case:
    """A file that `make` writes into a folder, the codes that may refuse it, and words of the message."""

    code: str  # one, or several with | between
    words: str
    make: Callable[[Path], Path]


def file(name: str, content: Content, **beside: Content) -> Callable[[Path], Path]:
    """Writes a file, and others beside it whose names have __ for the point."""

    def make(folder: Path) -> Path:
        for other, data in beside.items():
            (folder / other.replace("__", ".")).write_bytes(_raw(data))
        (folder / name).write_bytes(_raw(content))
        return folder / name

    return make


def sample(name: str) -> bytes:
    """The content of an export of the shared net."""
    return (SAMPLES / name).read_bytes()


def members(name: str) -> dict[str, bytes]:
    """What is in an archive among the samples."""
    with zipfile.ZipFile(SAMPLES / name) as archive:
        return {member: archive.read(member) for member in archive.namelist()}


def archive(content: Mapping[str | zipfile.ZipInfo, Content], method: int = zipfile.ZIP_STORED) -> bytes:
    """A zip file, of members by name or by what zipfile would say of them."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as target:
        for name, data in content.items():
            target.writestr(name, _raw(data))
    return made.getvalue()


def changed_json(raw: bytes, change: Callable[[Any], object]) -> bytes:
    """JSON after something was done to it in place."""
    value = json.loads(raw)
    change(value)
    return json.dumps(value).encode()


def _raw(content: Content) -> bytes:
    return content.encode() if isinstance(content, str) else content
