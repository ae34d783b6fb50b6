"""Parses the text of MLIR as JAX writes it: functions of operators in pretty and in generic form.

The parser knows no operator: it collects operands, `key = value` pairs, dictionaries, words, types and
regions as they come. What they mean is up to the reader.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgekit.converters.stablehlo.mlir_literals import Spec, dense
from edgekit.converters.stablehlo.mlir_values import Tokens
from edgekit.core.errors import EdgeKitError


@dataclass(frozen=True)
class MlirOperation:
    """One operator: the file's names of its operands and results, and whatever the text says beside them."""

    kind: str
    results: tuple[str, ...]
    operands: tuple[str, ...]
    attributes: Mapping[str, Any]
    words: tuple[str, ...]
    types: tuple[Spec, ...]  # of the results
    regions: tuple[Region, ...]


@dataclass(frozen=True)
class Region:
    """Operators that another one runs, and what they call its operands."""

    arguments: tuple[str, ...]
    operations: tuple[MlirOperation, ...]


@dataclass(frozen=True)
class MlirFunction:
    """A function: its arguments with types and the names that the source code gave them, and its body."""

    name: str
    arguments: tuple[tuple[str, Spec, str], ...]
    labels: tuple[str, ...]  # of the results, "" where there is none
    body: tuple[MlirOperation, ...]


class Parser(Tokens):
    """The functions of a text."""

    def functions(self) -> dict[str, MlirFunction]:
        """All functions of the module, by name."""
        found: dict[str, MlirFunction] = {}
        while self.kind:
            if self.kind == "alias":
                name = self.take()
                self.expect("=")
                if self.next == "loc":
                    self.aliases[name] = self.location()
                else:
                    self.value()
            elif self.accept("func.func", "func"):
                function = self.function()
                if function.name in found:
                    raise EdgeKitError("E0401", f"the file has two functions {function.name}")
                found[function.name] = function
            elif self.accept("module"):
                if self.kind == "symbol":
                    self.take()
                if self.accept("attributes"):
                    self.value()
                self.expect("{")
            elif self.next == "loc":
                self.location()
            elif not self.accept("}"):
                raise self.error("a function expected")
        return found

    def function(self) -> MlirFunction:
        self.accept("public", "private", "nested")
        name = self.need("symbol")[1:].strip('"')
        arguments: list[tuple[str, Spec, str]] = []
        labels: list[str] = []

        def argument() -> None:
            key = self.need("value")[1:]
            self.expect(":")
            type = self.type()
            if self.next == "{":
                self.value()
            arguments.append((key, type, self.location()))

        def result() -> None:
            self.type()
            given = self.value() if self.next == "{" else {}
            self.location()
            labels.append(str(given.get("jax.result_info", "")))

        self.expect("(")
        self.until(")", argument)
        if self.accept("->"):
            if self.accept("("):
                self.until(")", result)
            else:
                self.type()
                labels.append("")
        if self.accept("attributes"):
            self.value()
        self.expect("{")
        body = self.operations()
        self.location()
        return MlirFunction(name, tuple(arguments), tuple(labels), body)

    def operations(self) -> tuple[MlirOperation, ...]:
        """Operators up to the closing brace."""
        found = []
        while not self.accept("}"):
            found.append(self.operation())
        return tuple(found)

    def operation(self) -> MlirOperation:
        results: list[str] = []
        while self.kind == "value":
            name, count = self.take()[1:], 1
            if self.accept(":"):
                count = int(self.need("number"))
                if not 1 <= count <= 1000:
                    raise self.error(f"{count} results are absurd")
            results += [name] if count == 1 else [f"{name}#{i}" for i in range(count)]
            self.accept(",")
            if self.next == "=":
                break
        if results:
            self.expect("=")
        kind = self.take().strip('"') if self.kind in ("word", "text") else self.need("word")
        parts = Parts(self)
        while self.kind and self.next not in (":", "loc", "}"):
            parts.item()
        types: list[Spec] = []
        if self.accept(":"):
            types = parts.signature()
            if parts.literal:
                parts.attributes["value"] = dense(parts.literal, types[-1])
        while self.kind == "word" and self.next in ("reducer", "cond", "do"):
            self.take()
            parts.region_behind()
        self.location()
        kept = types[len(types) - len(results) :]
        operands = tuple(parts.operands + parts.initial)
        return MlirOperation(
            re.sub(r"^(stablehlo|func|chlo)\.", "", kind),
            tuple(results),
            operands,
            parts.attributes,
            tuple(parts.words),
            tuple(kept),
            tuple(parts.regions),
        )


class Parts:
    """What stands behind the name of one operator, in whatever order."""

    def __init__(self, parser: Parser) -> None:
        self.parser = parser
        self.operands: list[str] = []
        self.initial: list[str] = []  # those of a reduction stand between its operands
        self.attributes: dict[str, Any] = {}
        self.words: list[str] = []
        self.literal = ""  # of a constant, the type of which follows
        self.regions: list[Region] = []

    def item(self) -> None:
        """One thing of those that stand before the types."""
        parser = self.parser
        if parser.accept(","):
            return
        if parser.kind == "value":
            self.operands.append(parser.take()[1:])
        elif parser.accept("("):
            self._regions() if parser.next == "{" else self._group()
        elif parser.accept("<"):
            parser.expect("{")
            self.attributes |= parser.dictionary("}")
            parser.expect(">")
        elif parser.next == "{":
            self.attributes |= parser.value()
        elif parser.next == "[":
            self.attributes["ranges"] = parser.value()
        elif parser.kind == "symbol":
            self.attributes["callee"] = parser.take()[1:].strip('"')
        elif parser.kind == "dense":
            self.literal = parser.take()
        elif parser.kind in ("word", "text", "number"):
            self._word(parser.take().strip('"'))
        else:
            raise parser.error("an operand expected")

    def _word(self, word: str) -> None:
        parser = self.parser
        if parser.accept("="):
            self.attributes[word] = parser.value(typed=False)
        elif word == "applies":
            self.attributes["applies"] = parser.need("word").removeprefix("stablehlo.")
        else:
            self.words.append(word)

    def _group(self) -> None:
        """Operands in parentheses; those behind `init:` are the initial values of a reduction."""
        parser = self.parser
        goal = self.operands
        while not parser.accept(")"):
            if parser.kind == "value":
                goal.append(parser.take()[1:])
            elif parser.accept("init"):
                goal = self.initial
            elif not parser.accept(",", ":", "="):
                raise parser.error("an operand expected")

    def _regions(self) -> None:
        self.parser.until(")", lambda: self.regions.append(self._region(())))

    def _region(self, arguments: tuple[str, ...]) -> Region:
        parser = self.parser
        parser.expect("{")
        if parser.kind == "block":
            parser.take()
            arguments = self._arguments() if parser.next == "(" else ()
            parser.expect(":")
        return Region(arguments, parser.operations())

    def region_behind(self) -> None:
        """reducer(%a: type, %b: type) {...}, or the parts of a loop."""
        arguments: tuple[str, ...] = ()
        while self.parser.next == "(":
            arguments += self._arguments()
        self.regions.append(self._region(arguments))

    def _arguments(self) -> tuple[str, ...]:
        parser, found = self.parser, []

        def argument() -> None:
            found.append(parser.need("value")[1:])
            parser.expect(":")
            parser.type()
            parser.location()

        parser.expect("(")
        parser.until(")", argument)
        return tuple(found)

    def signature(self) -> list[Spec]:
        """The types of the results: those behind the arrow, or else all of them."""
        found = self._types()
        return self._types() if self.parser.accept("->") else found

    def _types(self) -> list[Spec]:
        parser, found = self.parser, []
        if parser.accept("("):
            parser.until(")", lambda: found.append(parser.type()))
            return found
        found.append(parser.type())
        while parser.accept(","):
            found.append(parser.type())
        return found
