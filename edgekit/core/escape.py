"""How text enters each language that EdgeKit writes: an escape for each kind of comment, string and code.

Whoever made a model file chose the names in it. Every function here keeps a whitelist of characters and
escapes or replaces all others, so that no text leaves the comment or string that it was put into.
Templates do not call them: edgekit.core.templating picks one for each `{{ }}` by where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from edgekit.core.errors import without_middle

Escape = Callable[[str], str]

MAX_COMMENT = 1000  # characters of one name in a comment: some files have longer ones than anybody reads
_REPLACEMENT = "_"
_SEPARATORS = " _.,:()=+%@/-"
_NOT_IN_COMMENT = re.compile(r"[^ -~]|\\")
_TAG = re.compile("<(?=[/!])")  # ends a script of a page, wherever it stands there
_SPECIAL_IN_MARKDOWN = re.compile(r"([\\`*{}\[\]<>#|&!~$]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.)")


class Code(str):
    """Text in the language of the file, written by EdgeKit's own printers: it enters code as it is."""

    __slots__ = ()


class UnsafeTextError(Exception):
    """Text stands where a file has code. This is a fault of EdgeKit: its printers say what is `Code`."""


def c_identifier(text: str) -> str:
    """Lower-case letters, digits and underscores; empty where nothing of the text may stay."""
    return re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").lower()


def code(text: str) -> str:
    """Names, numbers and lists of them. All else outside of comments and strings must be `Code`."""
    if isinstance(text, Code) or re.fullmatch(r"[A-Za-z0-9_.,+\- ]*", text):
        return text
    raise UnsafeTextError(f"{text[:60]!r} is neither a name nor a number, nor marked as code")


def unquoted(text: str) -> str:
    """An argument of CMake or scalar of YAML without quotes: as `code`; paths and options, too."""
    if not isinstance(text, Code):
        code(re.sub("[/=]", "", text))
    return text


def block_comment(text: str) -> str:
    """In /* */, of C, OpenCL, JavaScript and TypeScript; a slash never stands beside an asterisk."""
    return re.sub(r"^\*|\*$|(?<=\*)/|/(?=\*)", _REPLACEMENT, line_comment(text))


def line_comment(text: str) -> str:
    """Behind // or #, of every language. A backslash, or its trigraph ??/, would join the next line to it.
    The middle of what is too long is left out."""
    shown = without_middle(text, MAX_COMMENT)
    plain = _NOT_IN_COMMENT.sub(_REPLACEMENT, shown)
    return _TAG.sub(_REPLACEMENT, plain.replace("??", 2 * _REPLACEMENT))


def xml_comment(text: str) -> str:
    """Behind /// of C#, whose comments are XML: nothing in it is markup."""
    return _kept(text, _SEPARATORS + "*[]")


def c_string(text: str) -> str:
    """In "" or '' of C: bytes of UTF-8, in octal where they are not plain. No trigraph comes of it."""
    return "".join(
        chr(byte) if _is_plain(chr(byte)) else f"\\{byte:03o}" for byte in text.encode("utf-8", "replace")
    )


def unicode_string(text: str) -> str:
    r"""In "" of JSON and JavaScript, and in '' of JavaScript: all of them know \u0022."""
    units = text.encode("utf-16-be", "surrogatepass")
    codes = (int.from_bytes(units[i : i + 2]) for i in range(0, len(units), 2))
    return "".join(chr(c) if _is_plain(chr(c)) else f"\\u{c:04x}" for c in codes)


def code_point_string(text: str) -> str:
    r"""In quotes of Python, Meson, TOML and YAML: beyond \uffff they know \U0001f600, and no halves of it."""
    whole = text.encode("utf-8", "replace").decode()
    return "".join(f"\\U{ord(ch):08x}" if ch > "\uffff" else unicode_string(ch) for ch in whole)


def rust_string(text: str) -> str:
    r"""In "" of Rust, which knows \u{22}; not in the format of println!, where braces name variables."""
    whole = text.encode("utf-8", "replace").decode()
    return "".join(ch if _is_plain(ch) else f"\\u{{{ord(ch):x}}}" for ch in whole)


def java_string(text: str) -> str:
    r"""In "" or '' of Java, which reads \u0022 as a quote that ends the string: plain escapes are octal."""
    return "".join(
        f"\\{ord(ch):03o}" if ch < "\x80" and not _is_plain(ch) else unicode_string(ch) for ch in text
    )


def template_literal(text: str) -> str:
    """In `` of JavaScript; lines stay lines, so that the source of a kernel can be read there."""
    text = _TAG.sub(r"\\x3c", re.sub(r"[\\`$]", r"\\\g<0>", text))
    return "".join(ch if " " <= ch <= "~" or ch == "\n" else unicode_string(ch) for ch in text)


def cmake_string(text: str) -> str:
    """In "" of CMake, where ${} and $<> are evaluated and ; separates."""
    return _kept(text, _SEPARATORS)


def kconfig_string(text: str) -> str:
    """In "" of Kconfig, where $(shell, ...) runs a command."""
    return _kept(text, _SEPARATORS)


def properties_value(text: str) -> str:
    """Behind = in a .properties file, or : in the METADATA of a wheel, up to the end of the line."""
    return line_comment(text)


def markdown(text: str) -> str:
    """In running text and in cells of tables: as it is, but nothing in it is a link, markup or HTML."""
    return _SPECIAL_IN_MARKDOWN.sub(r"\\\1", "".join(ch if ch.isprintable() else " " for ch in text))


def markdown_code(text: str) -> str:
    """In `` of Markdown, which knows no escapes."""
    return _kept(text, _SEPARATORS + "$#'\"?*&!~^<>{}[]\\;")


def html(text: str) -> str:
    """In text and in quoted attributes of HTML and XML."""
    from markupsafe import escape

    return str(escape("".join(ch if ch.isprintable() or ch in "\n\t" else "\ufffd" for ch in text)))


def terminal(text: str) -> str:
    """On a terminal, which control characters would steer."""
    return "".join(ch if ch.isprintable() or ch == "\n" else "?" for ch in text)


def _is_plain(ch: str) -> bool:
    """Does it mean itself in the strings of all languages, and in HTML around them?"""
    return ch.isascii() and (ch.isalnum() or ch in " _.,:;()[]{}=+%@~|^!#*/-")


def _kept(text: str, punctuation: str) -> str:
    """Letters, digits and some punctuation; all else is replaced."""
    return "".join(
        ch if ch.isascii() and (ch.isalnum() or ch in punctuation) else _REPLACEMENT for ch in text
    )
