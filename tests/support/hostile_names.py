"""Names that try to leave the comment or string they are written into, and what parsers find of them.

A payload holds a marker as a word of its own. Generated files are given to a real parser of their language:
if that finds the marker as a token, the name has become code. Identifiers made of a name have more letters.
"""

import ast
import email
import io
import json
import re
import subprocess
import tokenize
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from html.parser import HTMLParser
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from support.node_tools import node_tools
from support.tools import require, require_module

_LEXERS = {".cs": "csharp", ".go": "go", ".java": "java", ".kts": "kotlin", ".rs": "rust", ".swift": "swift"}
_PACKED = (".whl", ".aar")  # compressed
MARKER = "zq7"
# Out of comments, strings, attributes, lists and lines, in each language that is written.
PAYLOADS = (
    f"*/ {MARKER} /*",
    f"*\\ {MARKER} \\*",  # a backslash that became a slash closed the comment
    f"*\\/ {MARKER} /\\*",
    f"**// {MARKER} //**",
    f"*/*/ {MARKER} /*/*",
    f"*??/\n/ {MARKER} /*",
    f"a\n{MARKER}\n",
    f"a\r{MARKER}\r",
    f"a\\\n{MARKER}",
    f"a??/\n{MARKER}",
    f"a\u2028{MARKER}\u2029",
    f"a\0{MARKER}",
    f"coding:{MARKER}",
    f"a\nRequires-Dist: {MARKER}",
    f'"; {MARKER}; "',
    f"'; {MARKER}; '",
    f'\\"; {MARKER}; //',
    f"`; {MARKER}; `",
    f"${{{MARKER}}}",
    f"$({MARKER})",
    f"\\({MARKER})",  # an interpolation of Swift
    f"$(shell,{MARKER})",
    f"$<{MARKER}>",
    f"]] {MARKER} [[",
    f"#[[\n]] {MARKER}",
    f"a: {MARKER}\n{MARKER}: a",
    f"</script><script>{MARKER}</script>",
    f"--><{MARKER} onload=1><!--",
    f'"><{MARKER}>',
    f"[a](javascript:{MARKER})",
    f"<{MARKER}>",
    f"| {MARKER} |\n\n# {MARKER}\n",
    f"```\n<{MARKER}>\n```",
    f"{{{{ {MARKER} }}}}",
    f"{{% {MARKER} %}}",
    f"\x1b]0;{MARKER}\x07",
    f"\u202e{MARKER}\u202c",
)
# Those that a text format can hold between quotes without escapes.
PLAIN_PAYLOADS = tuple(p for p in PAYLOADS if p.isprintable() and p.isascii() and not set(p) & set("\"'\\"))


def c_tokens(text: bytes, *flags: str) -> list[str]:
    """The tokens of C, by clang; `-x cl` makes it OpenCL."""
    command = [require("clang"), "-fsyntax-only", "-trigraphs", "-Wno-everything", *flags]
    command += ["-Xclang", "-dump-raw-tokens", "-"]
    if "-x" not in flags:
        command[1:1] = ["-x", "c"]
    done = subprocess.run(command, input=text, capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    dump = done.stderr.decode("latin-1")
    tokens = re.findall(r"^(\w+) '(.*?)'\t[^\n]*Loc=<[^\n]*$", dump, re.MULTILINE | re.DOTALL)
    return [text for kind, text in tokens if kind != "comment"]


@cache
def javascript(text: bytes, kind: str) -> str:
    """Code without comments, by esbuild; SyntaxError fails. Pages share most of their scripts."""
    command = [str(node_tools() / "node_modules" / ".bin" / "esbuild"), f"--loader={kind}"]
    done = subprocess.run(
        [*command, "--legal-comments=none"], input=text, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def _without_strings(code: str) -> str:
    """JavaScript without what is in quotes; template literals stay, which hold kernels."""
    lexers, tokens = require_module("pygments.lexers"), require_module("pygments.token")
    strings = (tokens.String.Single, tokens.String.Double)
    return " ".join(
        word for kind, word in lexers.get_lexer_by_name("javascript").get_tokens(code) if kind not in strings
    )


def cmake_words(path: Path) -> list[str]:
    """Every command and argument of a CMake file, by CMake's own trace of it with empty functions. Conditions
    are such functions, too, so that both branches run."""
    text = re.sub(r"^(\s*(?:if|elseif|else|endif))\(", r"\1_(", path.read_text(), flags=re.MULTILINE)
    names = {m.lower() for m in re.findall(r"^\s*(\w+)\(", text, re.MULTILINE)}
    language = {"set", "list", "cmake_minimum_required"}
    (path.parent / "unconditional.cmake").write_text(text)
    driver = "".join(f"function({n})\nendfunction()\n" for n in sorted(names - language))
    (path.parent / "driver.cmake").write_text(
        f"{driver}include({json.dumps(str(path.parent / 'unconditional.cmake'))})\n"
    )
    command = [require("cmake"), "--trace", "--trace-format=json-v1", "-P", "driver.cmake"]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    return [word for row in rows if "cmd" in row for word in (row["cmd"], *row["args"])]


class _Tags(HTMLParser):
    """What a page consists of beside text."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.scripts: list[str] = []
        self.data: list[str] = []  # JSON
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._inside = "data" if ("type", "application/json") in attrs else tag
        self.words += [tag, *(name for name, _ in attrs)]

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts.append(data)
        if self._inside == "data":
            self.data.append(data)


def code_of(path: str, data: bytes, folder: Path) -> str:
    """What a parser of the file's language takes for code, names and structure, but no content of strings."""
    suffix = Path(path).suffix
    if suffix in (".c", ".h", ".hpp", ".cpp", ".ino", ".S"):
        tokens = c_tokens(data)
        sources = "".join(json.loads(t) for t in tokens if t.startswith('"') and "__kernel" in t)
        return " ".join(t for t in tokens if not t.startswith(("'", '"'))) + sources
    if suffix in (".js", ".mjs"):
        return _without_strings(javascript(data, "js"))
    if suffix == ".ts":  # constants without values, as a source file may declare them
        return javascript(data.replace(b"export const", b"export declare const"), "ts")
    if suffix in _LEXERS:
        return " ".join(_tokens(data.decode(), suffix))
    if suffix == ".toml":
        return " ".join(_keys(tomllib.loads(data.decode())))
    if suffix in (".xml", ".csproj"):
        return " ".join(_elements(data.decode()))
    if suffix in (".mod", ".mk", ".pro"):
        return re.sub("//.*" if suffix == ".mod" else "#.*", "", data.decode())
    if suffix == ".json":
        return " ".join(_keys(json.loads(data)))
    if suffix == ".yml":
        return " ".join(_keys(require_module("yaml").safe_load(data)))
    if suffix == ".cmake" or Path(path).name == "CMakeLists.txt":
        file = folder / Path(path).name
        file.write_bytes(data)
        return " ".join(cmake_words(file))
    if suffix == ".html":
        tags = _Tags()
        tags.feed(data.decode())
        inside = [javascript(script.encode(), "js") for script in tags.scripts]
        inside += [code_of("data.json", text.encode(), folder) for text in tags.data]
        return " ".join([*tags.words, *inside])
    if suffix == ".md":
        return " ".join(_markdown(data.decode()))
    if suffix == ".properties":
        lines = data.decode().splitlines()
        assert all(re.match(r"\w+=", line) for line in lines), lines
        return " ".join(line.partition("=")[0] for line in lines)
    if suffix == ".py":
        ast.parse(data)  # in the encoding that the file names
        tokens = tokenize.tokenize(io.BytesIO(data).readline)
        return " ".join(t.string for t in tokens if t.type not in (tokenize.COMMENT, tokenize.STRING))
    if Path(path).name == "METADATA":
        fields = email.message_from_bytes(data)
        return " ".join((*fields, *(value for key, value in fields.items() if key != "Summary")))
    if Path(path).name == "meson.build":
        return re.sub(r"'(?:\\.|[^'\\])*'|#[^\n]*", "", data.decode())
    if path.endswith(".pc.in"):
        return " ".join(re.split("[=:]", line)[0] for line in data.decode().splitlines())
    if suffix in _PACKED:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            read = (".py", ".md", ".json", ".h", ".xml", "METADATA")
            inside = [name for name in archive.namelist() if name.endswith(read)]
            return " ".join(code_of(name, archive.read(name), folder) for name in inside)
    if Path(path).name == "Kconfig":
        return re.sub(r'"[^"\\$]*"', "", data.decode())
    assert suffix in (".a", ".bin", ".so", ".wasm"), f"no parser for {path}"
    return ""


def _tokens(text: str, suffix: str) -> Iterator[str]:
    """All but strings and comments, and what tools read of comments: Rust runs their blocks of code, C# takes
    them for XML, and what stands before `import "C"` is C."""
    lexers, tokens = require_module("pygments.lexers"), require_module("pygments.token")
    if suffix == ".java":  # its compiler does so before it looks for strings and comments
        text = re.sub(r"\\u+([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    for kind, word in lexers.get_lexer_by_name(_LEXERS[suffix]).get_tokens(text):
        if kind not in tokens.Comment and kind not in tokens.String:
            yield word
    said = "\n".join(re.findall(r"^ *//[/!] ?(.*)", text, re.MULTILINE))
    if suffix == ".rs":
        yield from _markdown(said)
    if suffix == ".cs":
        yield from _elements(f"<summary>{said}</summary>")
    for preamble in re.findall(r'/\*(.*?)\*/\s*import "C"', text, re.DOTALL):
        yield from c_tokens(re.sub("^#cgo .*", "", preamble, flags=re.MULTILINE).encode())
        yield from re.findall("^#cgo .*", preamble, re.MULTILINE)


def _elements(text: str) -> Iterator[str]:
    """Elements and attributes of XML."""
    for element in ElementTree.fromstring(text).iter():
        yield from (element.tag, *element.attrib)


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from _keys(item)


def _markdown(text: str) -> Iterator[str]:
    """HTML, links, headings and code blocks, by a CommonMark parser with tables."""
    parser = require_module("markdown_it").MarkdownIt("commonmark").enable("table")
    for token in parser.parse(text):
        if token.type in ("html_block", "fence", "code_block"):
            yield token.content
        for child in token.children or ():
            yield from (str(value) for value in child.attrs.values())
            if child.type == "html_inline":
                yield child.content
    tokens = parser.parse(text)
    for opening, content in pairwise(tokens):
        if opening.type == "heading_open":
            yield content.content


def escaped(path: str, data: bytes, folder: Path) -> bool:
    """Has a name become code in this file? Where no name is at all, there is nothing to parse."""
    if MARKER.encode() not in data and Path(path).suffix not in _PACKED:
        return False
    return re.search(rf"(?<!\w){MARKER}(?!\w)", code_of(path, data, folder)) is not None


def renamed(path: Path, names: list[str], folder: Path) -> Path:
    """A copy of a model file, or a folder of files, whose names are payloads of the same number of bytes."""
    if path.is_dir():
        made = folder / path.name
        made.mkdir()
        for file in path.iterdir():
            if file.is_file():
                renamed(file, names, made)
        return made
    made = folder / path.name
    made.write_bytes(_renamed(path.read_bytes(), names))
    return made


def _renamed(data: bytes, names: list[str]) -> bytes:
    if data.startswith(b"PK"):
        return _archive(data, lambda member: _renamed(member, names))
    is_text = all(byte >= 32 or byte in b"\n\r\t" for byte in data[:4096])
    payloads = PLAIN_PAYLOADS if is_text else PAYLOADS
    for i, name in enumerate(names):
        if payload := _of_length(payloads, i, len(name.encode())):
            data = data.replace(name.encode(), payload)
    return data


def _archive(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    made = BytesIO()
    with zipfile.ZipFile(BytesIO(data)) as old, zipfile.ZipFile(made, "w") as new:
        for member in old.infolist():
            new.writestr(member.filename, change(old.read(member)))
    return made.getvalue()


def _of_length(payloads: tuple[str, ...], i: int, length: int) -> bytes:
    """The payload number `i` of those that fit, and a number that keeps names apart."""
    number = f"{i:02d}"
    fitting = [p.encode() for p in payloads if len(p.encode()) + len(number) <= length]
    if not fitting:
        return b""
    payload = fitting[i % len(fitting)]
    return number.encode().ljust(length - len(payload), b"n") + payload
