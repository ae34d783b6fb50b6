"""MISRA C:2012 as cppcheck sees it, and the deviations that docs/misra.md writes down."""

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from support import object_cache
from support.tools import ROOT, require

PAGE = ROOT / "docs" / "misra.md"
MODEL = "<model>"  # the model's name in the names of files
# Rules of the category advisory, by chapter; all others are required or mandatory.
_ADVISORY = {
    1: (2,),
    2: (3, 4, 5, 6, 7),
    4: (2,),
    5: (9,),
    8: (7, 9, 11, 13),
    10: (5,),
    11: (4, 5),
    12: (1, 3, 4),
    13: (3, 4),
    15: (1, 4, 5),
    17: (5, 8),
    18: (4, 5),
    19: (2,),
    20: (1, 5, 10),
    21: (12,),
}
_FINDING = re.compile(r"^(.+):(\d+):misra-c2012-([\d.]+)$", re.MULTILINE)
_DEVIATION = re.compile(r"^\| (\d+\.\d+) \| ([^|]+) \| [^|]+ \|$", re.MULTILINE)


def required(rule: str) -> bool:
    """Is this rule required or mandatory?"""
    chapter, number = map(int, rule.split("."))
    return number not in _ADVISORY.get(chapter, ())


def findings(folder: Path, names: Sequence[str], platform: str) -> list[tuple[str, str, int]]:
    """What breaks a rule in these files and what they include: rule, file, line."""
    options = ("--std=c99", "--addon=misra", "--enable=style", "-q", "-I.", f"--platform={platform}")
    command = [require("cppcheck"), *options, "--template={file}:{line}:{id}", *names]

    def run() -> str:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "internalError" not in done.stderr, done.stderr
        return done.stderr

    said = object_cache.remembered(command, folder, run)
    return sorted({(m[3], m[1], int(m[2])) for m in _FINDING.finditer(said)})


def deviations(page: str) -> Mapping[str, Sequence[str]]:
    """For each rule the files, as patterns, where it is deviated from."""
    found: dict[str, list[str]] = {}
    for row in _DEVIATION.finditer(page):
        found.setdefault(row[1], []).extend(re.findall(r"`([^`]+)`", row[2]))
    return found
