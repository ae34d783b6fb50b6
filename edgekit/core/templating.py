"""Jinja templates with contextual escaping: no text from a model leaves the comment or string that it is in.

A template is scanned as the language that its suffix names. So it is known of every `{{ }}` whether it
stands in a comment, a string or code, and the escape of that place is applied: no template can choose or
forget it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream

from edgekit.core import escape
from edgekit.core.escape import Code, Escape


class _Words(Code):
    """A string in a template itself: it stands as it is, wherever that is."""

    __slots__ = ()


@dataclass(frozen=True)
class Context:
    """A stretch of a file: regular expressions for its start and end and for what is passed over in it, how
    text enters it, and which contexts may stand inside."""

    name: str
    start: str
    end: str
    escape: Escape
    skip: str = ""
    inside: tuple[Context, ...] = ()


def _string(quote: str, escaped: Escape) -> Context:
    return Context(f"string in {quote}", quote, quote, escaped, skip=r"\\.")


def _line(mark: str) -> Context:
    return Context(f"comment after {mark}", mark, "\n", escape.line_comment)


_BLOCK = Context("block comment", r"/\*", r"\*/", escape.block_comment)
_C = (_BLOCK, _line("//"), _string('"', escape.c_string), _string("'", escape.c_string))
# Comments that begin with /// or //! are Markdown, of which `cargo test` runs blocks of code.
_DOC_COMMENT = Context("doc comment", "//[/!]", "\n", escape.markdown_code)
_RUST = (_DOC_COMMENT, _BLOCK, _line("//"), _string('"', escape.rust_string))  # ' starts lifetimes, too
_GO = (
    Context("preamble of cgo", r"/\*\n#cgo", r"\*/", escape.unquoted),  # is C, and compiled
    _BLOCK,
    _line("//"),
    _string('"', escape.code_point_string),
    _string("'", escape.code_point_string),
)
# A backslash starts an interpolation, too; the escape leaves none of the text's own.
_SWIFT = (
    Context("doc comment", "///", "\n", escape.markdown_code),
    _BLOCK,
    _line("//"),
    _string('"', escape.rust_string),
)
_XML_COMMENT = Context("documentation in XML", "///", "\n", escape.xml_comment)
_CS = (
    _XML_COMMENT,
    _BLOCK,
    _line("//"),
    _string('"', escape.code_point_string),
    _string("'", escape.code_point_string),
)
_KOTLIN = (_BLOCK, _line("//"), _string('"', escape.unicode_string), _string("'", escape.unicode_string))
_JAVA = (_BLOCK, _line("//"), _string('"', escape.java_string), _string("'", escape.java_string))
_JS_PLAIN = (
    _BLOCK,
    _line("//"),
    _string('"', escape.unicode_string),
    _string("'", escape.unicode_string),
)
_BRACES = Context("braces", "{", "}", escape.code, inside=_JS_PLAIN)
_INTERPOLATION = Context("interpolation", r"\$\{", "}", escape.code, inside=(_BRACES, *_JS_PLAIN))
_TEMPLATE_LITERAL = Context(
    "template literal", "`", "`", escape.template_literal, skip=r"\\.", inside=(_INTERPOLATION,)
)
_JS = (*_JS_PLAIN, _TEMPLATE_LITERAL)
_HASH = _line("#")
_HTML = (
    Context("comment", "<!--", "-->", escape.code),
    Context("script", r"<script\b[^>]*>", "</script>", escape.code, inside=_JS),
    Context("style", r"<style\b[^>]*>", "</style>", escape.code),
)
_MARKDOWN = (
    Context("code block", r"(?m:^```[^\n]*\n)", r"(?m:^```)", escape.code),
    Context("code span", "`", "`", escape.markdown_code),
)


def _language(escaped: Escape, *inside: Context) -> Context:
    return Context("code", "", "", escaped, inside=inside)


_LONG_STRINGS = tuple(_string(quote, escape.code_point_string) for quote in ('"""', '"', "'"))
_PYTHON = _language(escape.unquoted, _HASH, *_LONG_STRINGS)
_LANGUAGES = {
    **dict.fromkeys((".c", ".h", ".S", ".ino", ".cpp", ".hpp"), _language(escape.code, *_C)),
    **dict.fromkeys((".js", ".mjs", ".ts"), _language(escape.code, *_JS)),
    **dict.fromkeys(
        (".cmake", "CMakeLists.txt"), _language(escape.unquoted, _HASH, _string('"', escape.cmake_string))
    ),
    ".rs": _language(escape.code, *_RUST),
    **dict.fromkeys((".swift", ".modulemap"), _language(escape.code, *_SWIFT)),
    ".go": _language(escape.code, *_GO),
    ".mod": _language(escape.unquoted, _line("//")),
    ".cs": _language(escape.code, *_CS),
    **dict.fromkeys(
        (".csproj", ".xml"), _language(escape.html, Context("comment", "<!--", "-->", escape.code))
    ),
    ".java": _language(escape.code, *_JAVA),
    ".kts": _language(escape.code, *_KOTLIN),
    **dict.fromkeys((".pro", "proguard.txt"), _language(escape.unquoted, _HASH)),
    ".mk": _language(escape.unquoted, _HASH),
    ".py": _PYTHON,
    **dict.fromkeys((".build", ".toml"), _language(escape.unquoted, _HASH, *_LONG_STRINGS)),
    **dict.fromkeys((".in", ".conf"), _language(escape.unquoted, _HASH)),
    ".defaults": _language(escape.unquoted, _HASH, _string('"', escape.kconfig_string)),
    ".ini": _language(escape.unquoted, _line(";")),
    ".json": _language(escape.code, _string('"', escape.unicode_string)),
    ".yml": _language(escape.unquoted, _HASH, _string('"', escape.code_point_string)),
    "Kconfig": _language(escape.code, _HASH, _string('"', escape.kconfig_string)),
    ".properties": _language(escape.properties_value, _HASH),
    ".html": _language(escape.html, *_HTML),
    ".md": _language(escape.markdown, *_MARKDOWN),
}


def environment(package: str) -> jinja2.Environment:
    """What renders the templates of a package."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # _Contextual does that, for HTML and for everything else
        extensions=[_Contextual],
    )
    made.filters |= {_filter_name(context): _filter(context.escape) for context in _contexts()}
    made.filters["_words"] = _Words
    return made


def language(template: str) -> Context:
    """The language of a template, by the name of the file that it makes."""
    path = PurePosixPath(template.removesuffix(".j2"))
    found = _LANGUAGES.get(path.name) or _LANGUAGES.get(path.suffix)
    if found is None:
        raise jinja2.TemplateSyntaxError("no escapes for its language: see templating.py", 1, template)
    return found


def _filter_name(context: Context) -> str:
    return f"_escape_{context.escape.__name__}"


@cache
def _contexts() -> tuple[Context, ...]:
    found: list[Context] = []

    def collect(contexts: Iterable[Context]) -> None:
        for context in contexts:
            found.append(context)
            collect(context.inside)

    collect(_LANGUAGES.values())
    return tuple(found)


def _filter(escaped: Escape) -> Any:
    def apply(value: object) -> str:
        if isinstance(value, _Words):
            return value
        if isinstance(value, jinja2.StrictUndefined):
            return str(value)  # which raises
        if isinstance(value, jinja2.Undefined):
            return ""  # of an `if` without an `else`
        return escaped(value if isinstance(value, str) else str(value))

    return apply


class _Contextual(Extension):
    """Adds to each expression the escape of the place where it stands."""

    def filter_stream(self, stream: TokenStream) -> Iterable[Token]:
        return _Reader(stream.name or "").tokens(stream)

    def parse(self, parser: Any) -> nodes.Node:  # it has no tags
        raise NotImplementedError


class _Reader:
    """Follows the contexts of one template, from its first token to the last."""

    def __init__(self, template: str) -> None:
        self._template = template
        self._stack: list[Context] = [language(template)]
        self._branches: list[tuple[list[Context], list[list[Context]]]] = []  # at `if`: before, at each end
        self._last = ""  # the character in front
        self._only_comments = True  # so far

    def tokens(self, stream: TokenStream) -> Iterator[Token]:
        in_expression = starts_block = False
        for token in stream:
            if token.type == "data":
                self._read(token.value, token.lineno)
            elif token.type == "variable_begin":
                in_expression = True
                self._check_place(token.lineno)
                yield token
                yield Token(token.lineno, "lparen", "(")
                continue
            elif token.type == "variable_end":
                in_expression = False
                yield Token(token.lineno, "rparen", ")")
                yield from self._filtered(token.lineno, _filter_name(self._stack[-1]))
                self._last = "x"
            elif token.type == "string" and in_expression:  # the template's own words
                yield Token(token.lineno, "lparen", "(")
                yield token
                yield from self._filtered(token.lineno, "_words")
                yield Token(token.lineno, "rparen", ")")
                continue
            elif token.type == "block_begin":
                starts_block = True
                yield token
                continue
            elif starts_block:
                starts_block = False
                self._block(token)
            yield token
        if len(self._stack) > 1 and self._stack[-1].end != "\n":
            raise self._fault(f"it ends in a {self._stack[-1].name}", 1)

    def _filtered(self, line: int, name: str) -> Iterator[Token]:
        yield Token(line, "pipe", "|")
        yield Token(line, "name", name)

    def _check_place(self, line: int) -> None:
        if self._stack[0] is _LANGUAGES[".html"] and len(self._stack) == 1 and self._last == "=":
            raise self._fault("text in an attribute needs quotes around it", line)
        if self._stack[0] is _PYTHON and self._only_comments:
            raise self._fault("text in the first comment may name the encoding of the file", line)
        if self._stack[-1] is _BLOCK and self._last in ("*", "/"):
            raise self._fault(f"text behind {self._last} may end a comment", line)

    def _read(self, text: str, line: int) -> None:
        """Follow the template's own text from context to context."""
        at = 0
        while at < len(text):
            top = self._stack[-1]
            choices = [context.start for context in top.inside]
            ends = [top.end] if len(self._stack) > 1 else []
            skips = [top.skip] if top.skip else []
            patterns = "|".join(f"({p})" for p in [*skips, *ends, *choices])
            found = re.compile(patterns, re.DOTALL).search(text, at) if patterns else None
            passed = text[at : found.start() if found else len(text)]
            self._only_comments &= top.escape is escape.line_comment or not passed.strip()
            if found is None:
                break
            at = found.end()
            which = found.lastindex
            assert which is not None
            if which <= len(skips):
                continue
            if which <= len(skips) + len(ends):
                self._stack.pop()
            else:
                self._stack.append(top.inside[which - 1 - len(skips) - len(ends)])
                self._only_comments &= self._stack[-1].escape is escape.line_comment
        if text:
            self._last = text[-1]

    def _block(self, token: Token) -> None:
        """At the ends of branches and loops, all ways must lead to the same context."""
        match token.value:
            case "if" | "for":
                self._branches.append((list(self._stack), []))
            case "else" | "elif":
                before, ends = self._branches[-1]
                ends.append(self._stack)
                self._stack = list(before)
            case "endif" | "endfor":
                before, ends = self._branches.pop()
                wanted = ends or [before]
                if any(end != self._stack for end in wanted):
                    raise self._fault(f"ways to {token.value} end in different contexts", token.lineno)
            case "include" if len(self._stack) > 1:
                raise self._fault(f"include stands in a {self._stack[-1].name}", token.lineno)

    def _fault(self, words: str, line: int) -> jinja2.TemplateSyntaxError:
        return jinja2.TemplateSyntaxError(words, line, self._template)
