"""Swift as a parser reads it: there is no compiler for the machines of these tests."""

from pathlib import Path
from typing import Any

from support.tools import require_module


def nodes_of(node: Any) -> list[Any]:
    """All nodes of a syntax tree that starts here."""
    found, left = [], [node]
    while left:
        found.append(left.pop())
        left += found[-1].children
    return found


def parsed(path: Path) -> list[Any]:
    """The nodes of a file's syntax tree."""
    language = require_module("tree_sitter").Language(require_module("tree_sitter_swift").language())
    return nodes_of(require_module("tree_sitter").Parser(language).parse(path.read_bytes()).root_node)
