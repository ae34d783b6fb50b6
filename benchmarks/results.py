"""Tables of docs: each benchmark replaces its own section of a page, and says how it was measured."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
RELIABILITY = PAGE.with_name("reliability.md")
_HEAD = """# Performance

Every table here is written by the script that its heading names; none is edited by hand. Machines are shared
and noisy, so compare columns of one table, never two tables.
"""


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A markdown table; the first column is text, the others are numbers."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def machine() -> str:
    """The processor and the compiler, as a reader would name them; clouds leave out what tells one processor
    of a name from the next, which the numbers of its family and model say."""
    lines = [line.partition(":") for line in Path("/proc/cpuinfo").read_text().splitlines()]
    facts = {name.strip(): value.strip() for name, _, value in lines}
    cpu = facts.get("model name", platform.processor())
    if "cpu family" in facts:
        cpu += f" (family {facts['cpu family']}, model {facts['model']})"
    gcc = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True).stdout
    return f"{cpu}, {gcc.splitlines()[0]}"


def write_section(script: str, title: str, text: str, on: Path = PAGE) -> None:
    """Replace the section of a script on a page, docs/performance.md if nothing else is said."""
    start, end = f"<!-- {script} -->", f"<!-- end of {script} -->"
    page = on.read_text(encoding="utf-8") if on.exists() else _HEAD
    section = f"{start}\n## {title}\n\n`python -m benchmarks.{script}`\n\n{text}\n{end}"
    if start in page:
        before, rest = page.split(start)
        page = before + section + rest.split(end)[1]
    else:
        page = page.rstrip() + "\n\n" + section + "\n"
    on.write_text(page, encoding="utf-8")
