"""The pages of documentation, their links and the anchors of their headings."""

import re
import subprocess
from pathlib import Path

from support.tools import ROOT, require

_BLOCK = re.compile(r"^( *)(```+).*?^\1\2$|^ {4}.*?$", re.MULTILINE | re.DOTALL)


def _pages() -> list[Path]:
    git = [
        require("git"),
        "-c",
        f"safe.directory={ROOT}",
        "ls-files",
        "-z",
        "-co",
        "--exclude-standard",
        "*.md",
    ]
    names = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return sorted(
        ROOT / name for name in names if name and (ROOT / name).is_file() and not (ROOT / name).is_symlink()
    )


PAGES = _pages()


def prose(page: Path) -> str:
    """The text without blocks of code."""
    return _BLOCK.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[str]:
    """Relative links: files, headings, or both."""
    found = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose(page)))
    return [link for link in found if not re.match(r"\w+:", link)]


def anchors(page: Path) -> set[str]:
    """Of all headings, as GitHub and Python-Markdown's `toc` name them."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE):
        words = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w -]", "", words).replace(" ", "-")
        count = sum(1 for other in found if re.fullmatch(rf"{re.escape(anchor)}(-\d+)?", other))
        found.add(f"{anchor}-{count}" if count else anchor)
    return found
