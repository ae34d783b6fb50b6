"""Draws the pictures of README.md: a terminal with what its commands print, and a report in Chromium."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
TERMINAL = ROOT / "docs" / "assets" / "terminal.svg"
REPORT = ROOT / "docs" / "assets" / "report.png"
MODEL = ROOT / "examples" / "keywords"
REPORT_SIZE = (1200, 880)

COLUMNS, ROWS = 100, 22
WIDTH, HEIGHT, LEFT, TOP, LINE = 800, 460, 16, 44, 18
LINES_PER_SECOND, SECONDS_TO_READ = 12, 2.5
STYLE = """\
  text { font: 13px/1 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
  text { fill: #d7dde5; white-space: pre; }
  .command { fill: #8fd694; }
"""


@dataclass(frozen=True)
class Scene:
    """A command and the lines that it prints."""

    command: str
    lines: tuple[str, ...]

    @property
    def shown(self) -> list[str]:
        """What fits into the terminal."""
        lines = self.lines if len(self.lines) < ROWS else (*self.lines[: ROWS - 2], "...")
        return [f"$ {self.command}", *(_cut(line) for line in lines)]


def _cut(line: str) -> str:
    return line if len(line) <= COLUMNS else line[: COLUMNS - 3] + "..."


def commands() -> list[str]:
    """The commands of EdgeKit in README.md, without their comments."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(r"^    (edgekit .*?) *(?:#.*)?$", page, re.MULTILINE)


def played(folder: Path) -> list[Scene]:
    """What the commands print, one after the other, in a folder with a model and data."""
    shutil.copy(MODEL / "keywords.onnx", folder / "model.onnx")
    shutil.copy(MODEL / "calib.npz", folder)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    scenes = []
    for command in commands():
        done = subprocess.run(
            command.split(),
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PATH": path, "NO_COLOR": "1"},
        )
        scenes.append(Scene(command, tuple(done.stdout.splitlines())))
    return scenes


def terminal(scenes: list[Scene]) -> str:
    """An SVG that shows one scene after the other; the last one, where the reader wants no motion."""
    starts = [0.0]
    for scene in scenes:
        starts.append(starts[-1] + len(scene.shown) / LINES_PER_SECOND + SECONDS_TO_READ)
    total = starts[-1]
    rules, groups = [], []
    for i, scene in enumerate(scenes):
        rows = []
        for j, line in enumerate(scene.shown):
            name = f"s{i}l{j}"
            begin, end = (
                100 * second / total for second in (starts[i] + j / LINES_PER_SECOND, starts[i + 1] - 0.01)
            )
            rules.append(
                f"    @keyframes {name} {{ 0%, {begin:.2f}% {{ opacity: 0 }} {begin + 0.01:.2f}%, {end:.2f}% "
                f"{{ opacity: 1 }} {min(end + 0.01, 100):.2f}%, 100% {{ opacity: 0 }} }}\n"
                f"    .{name} {{ animation: {name} {total:.1f}s infinite }}\n"
            )
            kind = f"{name} command" if j == 0 else name
            y = TOP + LINE * j
            rows.append(f'    <text class="{kind}" x="{LEFT}" y="{y}">{escape(line, quote=False)}</text>\n')
        hidden = "" if i == len(scenes) - 1 else ' class="earlier"'
        groups.append(f"  <g{hidden}>\n{''.join(rows)}  </g>\n")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}">\n'
        f"  <style>\n{STYLE}"
        "  @media (prefers-reduced-motion: reduce) { .earlier { display: none } }\n"
        f"  @media (prefers-reduced-motion: no-preference) {{\n{''.join(rules)}  }}\n"
        "  </style>\n"
        f'  <rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#10151c"/>\n'
        '  <g fill="#3a4350"><circle cx="20" cy="16" r="5"/><circle cx="36" cy="16" r="5"/>'
        '<circle cx="52" cy="16" r="5"/></g>\n'
        f"{''.join(groups)}</svg>\n"
    )


def shape(svg: str) -> list[str]:
    """The commands of a terminal, and the first cell of each row: numbers change with kernels."""
    return [text.partition("  ")[0] for text in re.findall(r"<text [^>]*>([^<]*)</text>", svg)]


def photograph(folder: Path) -> None:
    """The report of the library that the commands built, down to its advice."""
    page = folder / "report.html"
    command = [sys.executable, "-P", "-m", "edgekit", "report", "model.ek"]
    options = ["--target", "cortex-m4", "-o", page.name]
    subprocess.run([*command, *options], cwd=folder, check=True, capture_output=True)
    width, height = REPORT_SIZE
    chromium = [
        *("chromium", "--headless", "--no-sandbox", "--hide-scrollbars"),
        *(f"--window-size={width},{height}", f"--screenshot={REPORT}"),
    ]
    subprocess.run([*chromium, page.as_uri()], check=True, capture_output=True)


def main() -> None:
    """Draw both."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        TERMINAL.write_text(terminal(played(folder)), encoding="utf-8")
        photograph(folder)
    for path in (TERMINAL, REPORT):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} B")


if __name__ == "__main__":
    main()
