"""The documentation site: strictly built, searchable, with the API and all tables, from one host."""

import importlib.util
import json
import re
import subprocess
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest
from support.node_tools import browser
from support.sites import site
from support.tools import ROOT, require, require_module

import edgekit

# The page of the first result for each word, without the parameter that highlights it there.
SEARCH = """
export default async (page, { words }) => {
  const box = page.locator(".md-search__input");
  const list = page.locator(".md-search-result__list");
  const found = {};
  let before = "";
  for (const word of words) {
    await box.fill("");
    await box.pressSequentially(word);
    await page.waitForFunction(
      (known) => {
        const now = document.querySelector(".md-search-result__list").innerHTML;
        return now !== "" && now !== known;
      },
      before,
    );
    await page.waitForTimeout(500);
    before = await list.innerHTML();
    const first = new URL(await list.locator("a").first().getAttribute("href"), page.url());
    found[word] = first.origin + first.pathname;
  }
  return found;
};
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As scripts/docs builds it; --strict fails for a link, a heading or a page that is not there."""
    for name in ("mkdocs", "material", "mkdocstrings"):
        require_module(name)
    folder = tmp_path_factory.mktemp("site")
    command = [require("mkdocs"), "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


class Links(HTMLParser):
    """Where the elements of a page lead, and the ids that links may name."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.ids: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in {"href", "src"}:
                self.links.add(value or "")
            elif name == "id":
                self.ids.add(value or "")


@cache
def read(page: Path) -> Links:
    return Links(page.read_text(encoding="utf-8"))


def test_links_of_the_built_pages_lead_somewhere(built: Path) -> None:
    """mkdocs checks the links of Markdown: this follows those of its theme and of the API reference, too."""
    links = [
        (page, link, urlsplit(link))
        for page in sorted(built.rglob("*.html"))
        for link in sorted(read(page).links)
        if page.name != "404.html" and not urlsplit(link).netloc
    ]
    assert len(links) > 1000
    broken = []
    for page, link, parts in links:
        target = page.parent / unquote(parts.path) if parts.path else page
        target = target / "index.html" if target.is_dir() else target
        if not target.is_file() or (parts.fragment and unquote(parts.fragment) not in read(target).ids):
            broken.append(f"{page.relative_to(built)}: {link}")
    assert broken == []


def test_the_reference_has_every_public_name(built: Path) -> None:
    shown = set(
        re.findall(r'id="edgekit\.(\w+)"', (built / "api" / "index.html").read_text(encoding="utf-8"))
    )
    assert set(edgekit.__all__) - {"__version__"} == shown


def test_the_tables_of_measurements_are_there(built: Path) -> None:
    lines = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| ") and not line.startswith("| ---")]
    assert len(rows) > 100
    assert (built / "performance" / "index.html").read_text(encoding="utf-8").count("<tr>") == len(rows)


WORDS = {
    "accuracy": "/tutorials/debugging-accuracy/",
    "android": "/apps/",
    "arduino": "/boards/",
    "browser": "/browser/",
    "flash": "/memory/",
    "install": "/install/",
    "language model": "/language-models/",
    "onnx": "/frontends/",
    "quantize": "/quantization/",
    "streaming": "/states/",
}


def test_search_finds_pages_for_users_first_and_no_page_asks_another_host(
    built: Path, tmp_path: Path
) -> None:
    """Decisions have the same words in their titles."""
    actions = tmp_path / "search.mjs"
    actions.write_text(SEARCH)
    with site(built) as address, browser("chromium") as visitor:
        visit = visitor.visit(f"{address}/performance/", actions, words=list(WORDS))
    assert visit.result == {word: f"{address}{page}" for word, page in WORDS.items()}
    assert len(visit.requests) > 5
    assert [url for url in visit.requests if not url.startswith((address, "data:", "blob:"))] == []
    assert visit.errors == []


def test_every_page_but_decisions_is_in_the_search_index(built: Path) -> None:
    index = json.loads((built / "search" / "search_index.json").read_text(encoding="utf-8"))
    places = {entry["location"].partition("#")[0] for entry in index["docs"]}
    pages = {path.parent.relative_to(built).as_posix() + "/" for path in built.rglob("index.html")}
    decisions = {name for name in pages if name.startswith("adr/")}
    assert len(decisions) > 50
    assert places == {"" if name == "./" else name for name in pages - decisions}


def test_the_home_page_has_three_ways_in(built: Path) -> None:
    page = (built / "index.html").read_text(encoding="utf-8")
    links = re.findall(r'<a class="md-button" href="([^"]+)"', page)
    assert links == [
        "tutorials/firmware/",
        "tutorials/tflite-in-a-web-page/",
        "tutorials/model-in-an-app/",
    ]


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    require_module("mkdocs")
    spec = importlib.util.spec_from_file_location("docs_hooks", ROOT / "scripts" / "docs_hooks.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("written", "page", "adapted"),
    [
        ("[x](docs/cli.md#from-a)", "index.md", "[x](cli.md#from-a)"),
        ("[x](docs/adr)", "index.md", "[x](adr/README.md)"),
        ("[x](../README.md)", "cli.md", "[x](index.md)"),
        ("[`x`](../SECURITY.md)", "cli.md", "[`x`](security.md)"),
        ("[x](../../docs/cli.md)", "examples/digits.md", "[x](../cli.md)"),
        (
            "[x](../codegen/kernels/block_sparsity.py)",
            "kernels.md",
            "[x](https://host/repo/blob/main/codegen/kernels/block_sparsity.py)",
        ),
        ("`[x](y)` [w](https://w) [a](#a)", "cli.md", "`[x](y)` [w](https://w) [a](#a)"),
        ("```c\n[x](../README.md)\n- a\n  b\n```", "cli.md", "```c\n[x](../README.md)\n- a\n  b\n```"),
        ("```html x.html\n<a>\n```", "cli.md", '```html title="x.html"\n<a>\n```'),
        ("- a\n  b\n\n  c\n\nd", "cli.md", "- a\n    b\n\n    c\n\nd"),
        ("1. a\n\n   ```c\n   x\n   ```\n", "cli.md", "1. a\n\n    ```c\n    x\n    ```"),
    ],
)
def test_pages_are_adapted(hooks: ModuleType, written: str, page: str, adapted: str) -> None:
    assert hooks.adapted(written, page, "https://host/repo") == adapted + "\n"


def test_source_files_are_no_links_where_the_repository_has_no_address(hooks: ModuleType) -> None:
    assert hooks.adapted("[`x`](../codegen/kernels/block_sparsity.py)", "kernels.md", "") == "`x`\n"
