"""Pictures of tutorials: charts that commands draw into report pages, each as a file that stands alone.

A tutorial says above a picture which chart it is: `<!-- page.html: flash -->`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from edgekit.reports import pages

_PICTURE = re.compile(r"<!-- (\S+\.html): (.+?) -->\n!\[([^\]]+)\]\(([^)]+)\)")
# A chart is the first one behind these words.
_BEGINNINGS = {
    "graph": '<section id="graph"',
    "arena": '<section id="arena"',
    "flash": '<section id="flash"',
    "signal to noise": '<div class="bars">',
}
_VALUES = "values of "  # a layer's, in the table of a comparison
_WIDTH, _HEIGHT = (360, 760), 640  # between these it is shown as it is
_MARGIN, _LINE = 8, 14
_ENDS = re.compile(r"<svg\b|</svg>")
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_MEDIA = re.compile(r"@media [^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", re.DOTALL)


@dataclass(frozen=True)
class Picture:
    """A picture of a tutorial, and where it comes from."""

    page: str
    chart: str
    words: str
    file: Path


def pictures(tutorial: Path) -> Iterator[Picture]:
    for page, chart, words, link in _PICTURE.findall(tutorial.read_text(encoding="utf-8")):
        yield Picture(page, chart, words, tutorial.parent / link)


def drawn(picture: Picture) -> str:
    """The chart as it is on the page now."""
    text = Path(picture.page).read_text(encoding="utf-8")
    body = text.index("</style>")
    if picture.chart.startswith(_VALUES):
        name = picture.chart.removeprefix(_VALUES)
        found = _svg(text, text.index(f'title="{name}"', body))
        (tip,) = re.findall(r"<title>([^<]*)</title>", found)
        return _alone([found], f"{name}: {tip}")
    start = text.index(_BEGINNINGS[picture.chart], body)
    parts = [_svg(text, start)]
    if picture.chart == "signal to noise":  # that was its axis
        parts.append(_svg(text, text.index(parts[0], start) + len(parts[0])))
    return _alone(parts)


def texts(svg: str) -> list[str]:
    """The words in a picture: numbers change with kernels and compilers."""
    return [re.sub(r"[\d.,]+", "0", text) for text in re.findall(r"<text [^>]*>([^<]*)</text>", svg)]


def _svg(text: str, start: int) -> str:
    """The first picture behind a place, with those inside of it."""
    depth, begin = 0, text.index("<svg", start)
    for tag in _ENDS.finditer(text, begin):
        depth += 1 if tag[0] == "<svg" else -1
        if not depth:
            return text[begin : tag.end()]
    raise AssertionError("a picture without an end")


def _alone(parts: list[str], caption: str = "") -> str:
    """A file of pictures side by side, without links, and with what the style of reports says of them."""
    wide, high, inside = 0.0, 0.0, ""
    for part in parts:
        opening, _, content = part.removesuffix("</svg>").partition(">")
        size = re.search(r'viewBox="0 0 (\S+) (\S+)"', opening) or re.search(
            r'width="(\S+)" height="(\S+)"', opening
        )
        assert size
        inside += f'<g transform="translate({wide:g} 0)">{content}</g>\n'
        wide, high = wide + float(size[1]), max(high, float(size[2]))
    if caption:
        high += _LINE
        inside += f'<text x="0" y="{high:g}">{caption}</text>\n'
        wide = max(wide, 6.2 * len(caption))
    inside = re.sub(r"<title>[^<]*</title>", "", inside)
    inside = re.sub(r"<a\b", "<g", inside).replace("</a>", "</g>")
    inside = re.sub(r' (?:data-\w+|href|tabindex)="[^"]*"', "", inside)
    inside = re.sub(r"\n{2,}", "\n", inside)
    wide, high = wide + 2 * _MARGIN, high + 2 * _MARGIN
    scale = min(1.0, _WIDTH[1] / wide, _HEIGHT / high)
    scale = max(scale, _WIDTH[0] / wide) if high < _WIDTH[0] else scale
    box = f"{-_MARGIN} {-_MARGIN} {wide:g} {high:g}"
    paper = f'<rect x="{-_MARGIN}" y="{-_MARGIN}" width="{wide:g}" height="{high:g}" fill="var(--paper)"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" '
        f'width="{scale * wide:.0f}" height="{scale * high:.0f}">\n'
        f"<style>\n{_style(inside)}</style>\n{paper}\n{inside}</svg>\n"
    )


def _style(inside: str) -> str:
    """The colours, light and dark, and the rules for what is in there."""
    css = re.sub(r"/\*.*?\*/", "", pages.asset("page.css"), flags=re.DOTALL)
    (dark,) = (rules for rules in _MEDIA.findall(css) if rules.startswith("@media screen and (prefers-color"))
    used = {name for names in re.findall(r'class="([^"]*)"', inside) for name in names.split()}
    kept = []
    for names, rule in _RULE.findall(_MEDIA.sub("", css)):
        names = " ".join(names.split())
        if names in (":root", "svg text") or any(_is_used(name, used) for name in names.split(",")):
            kept.append(f"{names} {{{rule}}}\n")
    root, *others = kept
    return "svg { font-family: system-ui, sans-serif }\n" + "".join([root, dark, "\n", *others])


def _is_used(name: str, used: set[str]) -> bool:
    """Are all classes of a selector in there? States of the mouse are not."""
    classes = set(re.findall(r"\.([\w-]+)", name))
    return bool(classes) and classes <= used and ":" not in name
