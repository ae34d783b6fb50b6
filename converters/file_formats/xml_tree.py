"""XML as a tree of elements, of bounded size and depth.

A document type is refused: by entities of its own a small file becomes a large one, or reads another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from edgekit.converters.file_formats import text_numbers
from edgekit.core.errors import EdgeKitError

_MAX_DEPTH = 200
_MAX_ELEMENTS = 1 << 22
_MAX_TEXT = 1 << 12  # characters of an element that are kept: no more is a number


@dataclass
class Element:
    """An element, and the start of the text that it holds outside of its children."""

    tag: str
    attributes: Mapping[str, str]
    where: str  # the file and the line
    children: list[Element] = field(default_factory=list)
    content: str = ""

    def all(self, tag: str) -> Iterator[Element]:
        """Its children of this name."""
        return (child for child in self.children if child.tag == tag)

    def one(self, tag: str) -> Element:
        """Its only child of this name."""
        found = list(self.all(tag))
        if len(found) != 1:
            raise EdgeKitError(
                "E0401", f"{self.tag} has {len(found)} elements {tag}, it should be one", self.where
            )
        return found[0]

    def text(self, key: str, default: str | None = None) -> str:
        """An attribute."""
        found = self.attributes.get(key, default)
        if found is None:
            raise EdgeKitError("E0401", f"{self.tag} has no attribute {key}", self.where)
        return found

    def integer(self, key: str, default: int | None = None) -> int:
        """An attribute that is an integer."""
        text = self.text(key, None if default is None else str(default))
        return text_numbers.integer(text, f"{key} of {self.tag}", self.where)

    def number(self) -> int:
        """Its text, which is an integer."""
        return text_numbers.integer(self.content.strip(), f"the text of {self.tag}", self.where)


def parse(raw: bytes, what: str) -> Element:
    """The root of a document."""
    return _Parser(what).run(raw)


class _Parser:
    def __init__(self, what: str) -> None:
        self.what = what
        self.top = Element("", {}, what)
        self.open = [self.top]
        self.count = 0
        self.expat = expat.ParserCreate()
        self.expat.StartDoctypeDeclHandler = self._doctype
        self.expat.StartElementHandler = self._start
        self.expat.EndElementHandler = self._end
        self.expat.CharacterDataHandler = self._text
        self.expat.buffer_text = True

    def run(self, raw: bytes) -> Element:
        try:
            self.expat.Parse(raw, True)
        except expat.ExpatError as error:
            message = f"is not valid XML: line {error.lineno}"
            raise EdgeKitError("E0401", message, self.what, "is the file complete?") from None
        (root,) = self.top.children
        return root

    def _doctype(self, *_: object) -> None:
        raise EdgeKitError("E0402", "has a document type, which no model needs", self.what)

    def _start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.count += 1
        if len(self.open) > _MAX_DEPTH or self.count > _MAX_ELEMENTS:
            raise EdgeKitError("E0402", "is nested without end, or too large", self.what)
        made = Element(tag, attributes, f"{self.what}, line {self.expat.CurrentLineNumber}")
        self.open[-1].children.append(made)
        self.open.append(made)

    def _text(self, text: str) -> None:
        if len(self.open[-1].content) < _MAX_TEXT and not text.isspace():
            self.open[-1].content += text

    def _end(self, _: str) -> None:
        self.open.pop()
