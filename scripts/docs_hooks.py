"""MkDocs hooks: adds the pages outside of docs/ and the API reference, and adapts links and lists."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import edgekit

ROOT = Path(__file__).parents[1]
_FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"\A( *```\w+) ([\w.]+)$", re.MULTILINE)
_ITEM = re.compile(r"(?:[-*]|\d+\.) +")
_LINK = re.compile(r"`[^`\n]*`|\[((?:[^\[\]`]|`[^`\n]*`)*)\]\((?!\w+:|#)([^)\s]+)\)")
_WAY_IN = re.compile(r"^(\[[^\[\]\n]+\]\([^()\n]+\))(?: ·)?$", re.MULTILINE)
_API = """# Python API

Every command is a function with the same options. These names are the whole public interface: import them
from `edgekit`. Any other name may change with each version.

"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add pages to those of docs/."""
    for source, page in outside_pages().items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    files.append(File.generated(config, "api.md", content=api_page()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Adapt a page to where it lies in the site, to Python-Markdown, and to who searches for it."""
    page.meta.setdefault("search", searched(page))
    if page.is_homepage:
        markdown = _WAY_IN.sub(r"\1{ .md-button }", markdown)
    return adapted(markdown, page.file.src_uri, config.repo_url or "")


def searched(page: Page) -> dict[str, object]:
    """How search ranks a page: guides first, then the reference, then pages for developers. Decisions are no
    results for who searches for "install": they are found from their index."""
    if page.file.src_uri.startswith("adr/"):
        return {"exclude": True}
    section = next((section.title or "" for section in page.ancestors), "")
    return {"boost": {"": 1, "Reference": 0.25, "Development": 0.1}.get(section, 4)}


def outside_pages() -> dict[str, str]:
    """Path in the repository -> page of the site."""
    examples = (path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob("examples/*/README.md")))
    names = ("CHANGELOG", "CONTRIBUTING", "SECURITY")
    return {
        "README.md": "index.md",
        **{f"{name}.md": f"{name.lower()}.md" for name in names},
        **{path: f"{posixpath.dirname(path)}.md" for path in examples},
    }


def api_page() -> str:
    """The public names: functions first, then the types that they take and give."""
    names = sorted(set(edgekit.__all__) - {"__version__"}, key=lambda name: (name[0].isupper(), name))
    return _API + "\n".join(f"::: edgekit.{name}\n" for name in names)


def adapted(markdown: str, page: str, repository: str) -> str:
    """Links lead to pages of the site, or to the repository where its address is known; lists are indented by
    four, and the name of a block is its title, as Python-Markdown wants them."""
    blocks = [_NAMED.sub(r'\1 title="\2"', block) for block in _FENCE.findall(markdown)]
    rest = _FENCE.split(markdown)
    prose = [_LINK.sub(lambda found: _link(found, page, repository), part) for part in rest]
    return _indented("".join(a + b for a, b in zip(prose, [*blocks, ""], strict=True)))


def _link(found: re.Match[str], page: str, repository: str) -> str:
    text, link = found.groups()
    if link is None:
        return found[0]  # code
    path, hash_sign, anchor = link.partition("#")
    outside = outside_pages()
    source = {page: source for source, page in outside.items()}.get(page, f"docs/{page}")
    wanted = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    if (ROOT / wanted / "README.md").is_file():
        wanted += "/README.md"
    is_page = wanted.endswith((".md", ".png", ".svg"))
    if is_page and (wanted in outside or wanted.startswith("docs/")):
        target = outside.get(wanted, wanted.removeprefix("docs/"))
        return f"[{text}]({posixpath.relpath(target, posixpath.dirname(page) or '.')}{hash_sign}{anchor})"
    return f"[{text}]({repository}/blob/main/{wanted})" if repository else text


def _indented(markdown: str) -> str:
    lines, shift, in_fence = [], 0, False
    for line in markdown.splitlines():
        in_fence ^= line.startswith("```")
        if not in_fence and (item := _ITEM.match(line)):
            shift = max(0, 4 - len(item[0]))
        elif line.strip() and not line[0].isspace():
            shift = 0
        elif line.strip() and not in_fence:
            line = " " * shift + line
        lines.append(line)
    return "\n".join(lines) + "\n"
