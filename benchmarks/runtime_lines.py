"""How large the runtime in C is: lines of kernels and headers, and what makes them hard to read.

`python -m benchmarks.runtime_lines` prints today's figures; with a folder, those of the checkout there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from edgekit.codegen.kernels.contracts import COMMENT
from edgekit.codegen.kernels.kernel_rows import TAG_LINE, head_comments

_FUNCTION = re.compile(r"^(?:EK_\w+|static)[\w *]*?\b\w+\(([^;{}]*?)\)\s*\n\{", re.MULTILINE)
# A rule in C, of sums `acc`, or the instructions of one in assembly. What only names a rule spells none.
_RULE = re.compile(
    r"\bek_requantize_[\w#]+\([\s\\]*(?:const )?\w+(?:##\w+)* acc\b|_requantize\(\s*const int32_t kind\b"
    r"|\bby_\w+\)\(const EK_WIDE\(ints\) acc\b"
    r"|\b(?:smmul|smmla|vq?rdmulh|vmulh|vrshl)[lr]*(?:\.s32)?[ \"]"
)
_ROW = re.compile(r"^\| (?!written)", re.MULTILINE)
_MANY = 10  # arguments


def figures(root: Path) -> Mapping[str, int]:
    runtime = root / "runtime_c"
    texts = {
        path: path.read_text(encoding="utf-8")
        for path in sorted(runtime.rglob("*"))
        if path.suffix in (".c", ".h", ".S")
    }
    heads = [found[1] for path in runtime.glob("kernels/*/*.c") for found in head_comments(texts[path])]
    headers = [path for path in texts if path.is_relative_to(runtime / "include")]
    spell = [path for path in headers if _RULE.search(COMMENT.sub("", texts[path]))]
    arguments = [
        1 + found.count(",") for text in texts.values() for found in _FUNCTION.findall(COMMENT.sub("", text))
    ]
    page = (root / "docs" / "kernels.md").read_text(encoding="utf-8")
    _, _, mechanisms = page.partition("\n## Template mechanisms\n")
    return {
        "lines of runtime_c": _lines(texts.values()),
        "lines of kernels": _lines(texts[path] for path in runtime.glob("kernels/*/*.c")),
        "lines of comments at their heads": sum(head.count("\n") + 1 for head in heads),
        "lines of tags": sum(len(TAG_LINE.findall(head)) for head in heads),
        "headers that spell a rounding rule": len(spell),
        "template mechanisms": len(_ROW.findall(mechanisms.partition("\n## ")[0])),
        f"functions with {_MANY} arguments and more": sum(count >= _MANY for count in arguments),
    }


def _lines(texts: Iterable[str]) -> int:
    return sum(text.count("\n") for text in texts)


if __name__ == "__main__":
    for name, figure in figures(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parents[1]).items():
        print(f"{figure:6,}  {name}")
