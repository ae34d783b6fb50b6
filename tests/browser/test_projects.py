"""The page of `edgekit new --template web`: as its policy lets it be, with an image and with numbers."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.nets import Net
from support.node_tools import Browser
from support.npm_packages import small_digits
from support.sites import site
from support.tools import require_module

from edgekit import projects
from edgekit.codegen.packages import Content
from edgekit.core.ir import Graph
from edgekit.core.ops.dense import Dense


def row() -> Graph:
    net = Net()
    return net.done(net(Dense(), net.x(1, 6), net.random(4, 6), net.random(4), name="y")).with_name("row")


@pytest.mark.parametrize(("graph", "shown"), [(small_digits, 10), (row, 4)], ids=["image", "numbers"])
def test_the_page_shows_results(
    chromium: Browser, tmp_path: Path, graph: Callable[[], Graph], shown: int
) -> None:
    require_module("ziglang")
    known = Content(tuple(f"<{i}>" for i in range(shown)))
    made = projects.create(tmp_path / "page", graph(), projects.find("web"), content=known, verify=False)
    with site(Path(made.folder)) as url:
        visit = chromium.visit(f"{url}/", Path(__file__).parent / "project.mjs")
    assert visit.errors == []
    assert sorted(visit.result) == sorted(known.classes)
