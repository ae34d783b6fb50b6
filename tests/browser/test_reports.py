"""Report pages in a browser: readable at every width, in light, in dark and on paper, by mouse and keys."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from support.node_tools import Browser
from support.report_pages import figures, library, renamed, residual, transformer, tuned
from support.tools import ROOT

from edgekit import Graph, convert, diff, quantize_model
from edgekit.codegen.library_map import library_map
from edgekit.codegen.program import compile_graph
from edgekit.core import target
from edgekit.reports import comparison_page, library_page
from edgekit.reports.library_page import PageOptions
from edgekit.tuning import page as tuning_page

LOOK = Path(__file__).parent / "look.mjs"
DIGITS = ROOT / "examples" / "digits"
WAYS = [
    (1280, "light", "screen"),
    (1280, "dark", "screen"),
    (360, "light", "screen"),
    (360, "dark", "screen"),
]
WAYS += [(1032, "dark", "print")]
MARKUP = (
    "</title></svg><script>globalThis.hacked = 1</script><b onclick=x>\N{FULLWIDTH LATIN SMALL LETTER A}" * 3
)


@pytest.fixture(scope="module")
def small() -> tuple[Graph, Graph, np.ndarray]:
    """The digits model and its integers, and data."""
    graph = convert(DIGITS / "digits.onnx")
    with np.load(DIGITS / "calib.npz") as data:
        x = data["x"][:8]
    return graph, quantize_model(graph, x, calibrate="minmax")[0], x


@pytest.fixture(scope="module")
def pages(
    small: tuple[Graph, Graph, np.ndarray], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """The pages of networks as large as they come, of a small one with everything, and of a comparison."""
    folder = tmp_path_factory.mktemp("pages")
    graph, int8, x = small
    found = diff(graph, int8, x, order="graph")
    mapped = library_map(compile_graph(int8, target.load("cortex-m4")), None, {}, None)
    before = library_page.summary(figures(library(residual(2), 9)))
    everything = PageOptions((), before, int8, found, ("a warning",))
    texts = {
        "residual": library_page.render(figures(library(residual(37), 148))),
        "transformer": library_page.render(figures(library(transformer(23), 300))),
        "everything": library_page.render(figures(mapped), everything),
        "hostile": library_page.render(figures(renamed(library(residual(3), 12), MARKUP))),
        "tuned": tuning_page.render(tuned(MARKUP)),
        "difference": comparison_page.render(found, ["digits.onnx", "digits_int8.ek"], ["a warning"]),
    }
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in texts}


FAULTS = ("faint", "overlaps", "spilled", "covered", "outside", "repeated", "nameless", "dead")
FAULTS += ("moving", "untitled", "unscoped")


@pytest.mark.parametrize("name", ["residual", "transformer", "everything", "hostile", "difference", "tuned"])
def test_a_page_is_readable(chromium: Browser, pages: dict[str, Path], name: str) -> None:
    visit = chromium.visit(pages[name].as_uri(), LOOK, ways=WAYS)
    assert len(visit.result) == len(WAYS)
    for way, found in visit.result.items():
        assert found["texts"] > 30
        assert found["cards"] == {"residual": 150, "transformer": 302, "hostile": 14}.get(
            name, found["cards"]
        )
        assert found["overflow"] <= 0, way
        assert {fault: found[fault] for fault in FAULTS if found[fault]} == {}, way
    assert visit.errors == []
    assert visit.requests == [pages[name].as_uri()]


PDF = """
export default async (page, { path }) => (await page.pdf({ path, preferCSSPageSize: true })).length;
"""


def test_a_page_is_printed_to_pdf(chromium: Browser, pages: dict[str, Path], tmp_path: Path) -> None:
    """On a few sheets that are wider than high, as the style of the page wants them."""
    (tmp_path / "pdf.mjs").write_text(PDF)
    path = tmp_path / "page.pdf"
    visit = chromium.visit(pages["everything"].as_uri(), tmp_path / "pdf.mjs", path=str(path))
    data = path.read_bytes()
    assert data.startswith(b"%PDF-")
    assert len(data) == visit.result > 20_000
    sheets = [[float(n) for n in box.split()] for box in re.findall(rb"/MediaBox \[([^\]]*)\]", data)]
    assert 2 <= len(sheets) <= 12
    assert all(wide > high for _, _, wide, high in sheets)


HINTS = """
export default async (page, { width }) => {
  await page.setViewportSize({ width, height: 900 });
  return page.evaluate(() => [...document.querySelectorAll(".scroll:has(> .chart)")].map(
    (e) => [getComputedStyle(e, "::before").content, e.scrollWidth > e.clientWidth]));
};
"""


@pytest.mark.parametrize(("width", "hidden"), [(1280, False), (360, True)])
def test_charts_wider_than_a_phone_say_so(
    chromium: Browser, pages: dict[str, Path], tmp_path: Path, width: int, hidden: bool
) -> None:
    """Phones show no scroll bar, and half of a treemap looks whole."""
    (tmp_path / "hints.mjs").write_text(HINTS)
    found = chromium.visit(pages["residual"].as_uri(), tmp_path / "hints.mjs", width=width).result
    assert len(found) == 2
    assert [("scroll sideways" in text, is_cut) for text, is_cut in found] == [(hidden, hidden)] * 2


def test_faults_are_seen(chromium: Browser, pages: dict[str, Path], tmp_path: Path) -> None:
    text = pages["hostile"].read_text(encoding="utf-8")
    text = text.replace("--soft: #5b626a", "--soft: #b0b4b8", 1)
    text = text.replace("<main>", '<main><div id="search" style="width:999px">wide</div><button></button>')
    text = re.sub(r"(class=.card k0.*?translate\()[^)]*", r"\g<1>20 20", text)
    text = re.sub(
        r'(<a class="block weights.*?</a>\n)',
        r"\1" + '<g class="block"><rect width="1100" height="360"/></g>',
        text,
        flags=re.DOTALL,
    )
    text = text.replace(' x="14" y="16">', ' x="190" y="16">').replace('href="#layer-2"', 'href="#layer"')
    text = text.replace("</style>", "a { transition: color 1s }</style>", 1)
    text = text.replace("<caption>", "<caption hidden></caption><p>", 1).replace(' scope="row"', "", 1)
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    visit = chromium.visit((tmp_path / "page.html").as_uri(), LOOK, ways=[(360, "light", "screen")])
    (found,) = visit.result.values()
    assert found["overflow"] > 0
    assert [fault for fault in FAULTS if not found[fault]] == []


def test_pages_of_large_networks_are_small(pages: dict[str, Path]) -> None:
    assert pages["residual"].stat().st_size < 600_000
    assert pages["transformer"].stat().st_size < 900_000


KEYS = """
export default async (page) => {
  const chosen = () => page.textContent("#details h3");
  await page.focus("a.card");
  const steps = [await chosen()];
  for (const key of ["ArrowDown", "ArrowDown", "ArrowUp", "End", "Home"]) {
    await page.keyboard.press(key);
    steps.push(await chosen());
  }
  const before = Number(await page.getAttribute(".picture", "width"));
  await page.keyboard.press("+");
  const larger = Number(await page.getAttribute(".picture", "width")) > before;
  await page.keyboard.press("/");
  await page.keyboard.type("expanded_conv_7_");
  const hits = await page.textContent("#hits");
  await page.keyboard.press("Enter");
  const found = await chosen();
  await page.keyboard.press("Tab");
  await page.selectOption("#measure", "w");
  const bars = await page.$$eval(".share", (all) => all.map((bar) => parseFloat(bar.getAttribute("width"))));
  await page.click("#flash a.block");
  const block = await chosen();
  return { steps, larger, hits, found, longest: Math.max(...bars), of: bars.indexOf(100), block };
};
"""


def test_keys_lead_through_the_graph(chromium: Browser, pages: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "keys.mjs").write_text(KEYS)
    visit = chromium.visit(pages["residual"].as_uri(), tmp_path / "keys.mjs")
    name = "functional_1_expanded_conv_{}_project".format
    layers = library(residual(37), 148).layers
    assert visit.result["steps"] == [name(i) for i in (0, 1, 2, 1, 147, 0)]
    assert visit.result["larger"]
    assert visit.result["hits"] == "1 of 148"
    assert visit.result["found"] == name(7)
    heaviest = max(range(len(layers)), key=lambda i: layers[i].weight_bytes)
    assert (visit.result["longest"], visit.result["of"]) == (100, heaviest)
    assert visit.result["block"].startswith("functional_1_expanded_conv_")
    assert visit.errors == []


SORT = """
export default async (page) => {
  const numbers = () => page.$$eval("#table tbody tr", (rows) => rows.slice(0, 3).map((row) => row.id));
  await page.click("#table th:has-text('MACs') button");
  const down = await numbers();
  await page.click("#table th:has-text('MACs') button");
  return [down, await numbers(), await page.evaluate(() => globalThis.hacked ?? 0)];
};
"""


def test_headings_sort_and_names_are_text(chromium: Browser, pages: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "sort.mjs").write_text(SORT)
    down, up, hacked = chromium.visit(pages["hostile"].as_uri(), tmp_path / "sort.mjs").result
    macs = {f"layer-{i + 1}": x.macs for i, x in enumerate(library(residual(3), 12).layers)}
    order = sorted(macs, key=lambda name: macs[name])
    assert (down, up) == (order[::-1][:3], order[:3])
    assert hacked == 0


SHORT = """
export default async (page) => {
  const shown = () =>
    page.$$eval("#table tbody tr", (all) => all.filter((row) => row.checkVisibility()).map(({ id }) => id));
  const first = await shown();
  await page.click("#table th:has-text('MACs') button");
  const sorted = await shown();
  const link = page.locator("#advice a").first();
  const wanted = await link.getAttribute("data-row");
  await page.click("#table th:has-text('#') button");
  await link.click();
  const all = await shown();
  const [chosen, at] = [await page.textContent("#details h3"), await page.evaluate(() => location.hash)];
  return { first, sorted, wanted, all: all.length, chosen, at };
};
"""


def test_long_tables_are_short_until_all_is_asked_for(
    chromium: Browser, pages: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "short.mjs").write_text(SHORT)
    found = chromium.visit(pages["residual"].as_uri(), tmp_path / "short.mjs").result
    layers = library(residual(37), 148).layers
    heaviest = sorted(range(len(layers)), key=lambda i: -layers[i].macs)
    assert found["first"] == [f"layer-{i + 1}" for i in range(10)]
    assert found["sorted"] == [f"layer-{i + 1}" for i in heaviest[:10]]
    assert found["wanted"] == f"layer-{heaviest[0] + 1}" not in found["first"]
    assert (found["all"], found["at"]) == (148, f"#{found['wanted']}")
    assert found["chosen"] == layers[heaviest[0]].name


def test_rows_of_moves_are_shown_with_all_rows(
    chromium: Browser, pages: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "moves.mjs").write_text(MOVES)
    before, after, printed = chromium.visit(pages["difference"].as_uri(), tmp_path / "moves.mjs").result
    assert 0 < before < after == printed


MOVES = """
export default async (page) => {
  const shown = () =>
    page.$$eval("table.sorts tbody tr", (all) => all.filter((row) => row.checkVisibility()).length);
  const before = await shown();
  await page.emulateMedia({ media: "print" });
  const printed = await shown();
  await page.emulateMedia({ media: "screen" });
  await page.click(".show-all");
  return [before, await shown(), printed];
};
"""


CLICK = """
export default async (page) => {
  await page.click("a[href='#variant-3'] circle");
  const row = page.locator("#variant-3");
  const open = await row.locator("pre").textContent();
  const numbers = await page.$$eval(".charts svg", (charts) =>
    charts.map((chart) => {
      const texts = [...chart.querySelectorAll(".dot text")];
      return texts.map((text) => text.getBoundingClientRect().toJSON());
    }),
  );
  const apart = numbers.every((texts) =>
    texts.every((a, i) => texts.slice(0, i).every((b) =>
      a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top)),
  );
  return [
    await row.getAttribute("class"), open, apart, numbers.map((texts) => texts.length),
    await page.evaluate(() => location.hash), await page.locator(".axis").allTextContents(),
  ];
};
"""


def test_a_point_of_a_search_leads_to_its_row_and_its_commands(
    chromium: Browser, pages: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "click.mjs").write_text(CLICK)
    result = chromium.visit(pages["tuned"].as_uri(), tmp_path / "click.mjs").result
    row, commands, apart, labels, place, axes = result
    assert "on" in row.split()
    assert commands.splitlines()[0].startswith("edgekit quantize 'kws model.onnx' --dtype bf16 -o ")
    assert commands.splitlines()[1].endswith("--target stm32f407 --optimize size")
    assert apart
    assert min(labels) > 5
    assert place == "#variant-3"
    assert axes == ["Flash, KB", "Accuracy, %", "Instructions, millions", "Accuracy, %"]


PICTURE = """
export default async (page, { width, media }) => {
  await page.setViewportSize({ width, height: 900 });
  await page.emulateMedia({ colorScheme: "light", media });
  await page.addStyleTag({ content: "text { visibility: hidden }" });
  const found = {};
  for (const name of ["#view", "#arena svg", "#flash svg"]) {
    const taken = (await page.locator(name).screenshot()).toString("base64");
    found[name] = await page.evaluate(async (data) => {
      const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
      const canvas = Object.assign(document.createElement("canvas"), { width: 40, height: 20 });
      const context = canvas.getContext("2d");
      context.imageSmoothingQuality = "high";
      context.drawImage(image, 0, 0, 40, 20);
      return [...context.getImageData(0, 0, 40, 20).data].filter((_, i) => i % 4 !== 3);
    }, taken);
  }
  return found;
};
"""
GOLDEN = Path(__file__).parent / "golden" / "report"


@pytest.mark.parametrize(
    ("device", "width", "media"),
    [("desktop", 1280, "screen"), ("phone", 360, "screen"), ("paper", 1032, "print")],
)
def test_pictures_are_as_they_were(
    chromium: Browser,
    pages: dict[str, Path],
    tmp_path: Path,
    request: pytest.FixtureRequest,
    device: str,
    width: int,
    media: str,
) -> None:
    """Without texts, whose fonts are those of the machine, and so small that antialiasing hardly matters."""
    (tmp_path / "picture.mjs").write_text(PICTURE)
    uri = pages["residual"].as_uri()
    found = chromium.visit(uri, tmp_path / "picture.mjs", width=width, media=media).result
    golden = GOLDEN / f"{device}.json"
    if request.config.getoption("--update-golden"):
        golden.write_text(json.dumps(found, separators=(",", ":")).replace("],", "],\n") + "\n")
    expected = json.loads(golden.read_text())
    assert found.keys() == expected.keys()
    for name, pixels in found.items():
        off = np.abs(np.array(pixels) - np.array(expected[name]))
        assert off.mean() < 0.3, name
        assert off.max() < 8, name
