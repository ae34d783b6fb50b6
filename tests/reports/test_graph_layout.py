"""Layouts of graphs: nothing overlaps, edges go down from node to node, long chains fold into columns."""

import random
import re

import pytest
from support.report_pages import residual, transformer

from edgekit.reports.graph_layout import NODE_HEIGHT, NODE_WIDTH, Layout, isotonic, layout


def random_graph(seed: int) -> tuple[int, list[tuple[int, int]]]:
    """Nodes in order, each with some of the nodes before it as operands."""
    draw = random.Random(seed)
    count = draw.randint(1, 60)
    edges = {
        (draw.randrange(max(0, node - draw.choice((2, 5, 40))), node), node)
        for node in range(1, count)
        for _ in range(draw.choice((0, 1, 1, 1, 2, 3)))
    }
    return count, sorted(edges)


def check(made: Layout, edges: list[tuple[int, int]]) -> None:
    for i, a in enumerate(made.boxes):
        assert 0 <= a.x <= made.width - NODE_WIDTH
        assert 0 <= a.y <= made.height - NODE_HEIGHT
        for b in made.boxes[:i]:
            assert abs(a.x - b.x) >= NODE_WIDTH or abs(a.y - b.y) >= NODE_HEIGHT
    for (source, target), path in zip(edges, made.paths, strict=True):
        x, y = (float(n) for n in re.match(r"M(\S+) ([\d.]+)", path).groups())
        assert x == pytest.approx(made.boxes[source].x + NODE_WIDTH / 2, abs=0.06)
        assert y == pytest.approx(made.boxes[source].y + NODE_HEIGHT, abs=0.06)
        assert float(re.findall(r"[\d.]+", path)[-1]) == pytest.approx(made.boxes[target].y, abs=0.06)
        assert "nan" not in path


@pytest.mark.parametrize("seed", range(40))
def test_nothing_overlaps(seed: int) -> None:
    count, edges = random_graph(seed)
    check(layout(count, edges), edges)


def test_a_graph_without_edges_is_a_row_and_one_without_nodes_is_empty() -> None:
    assert len({box.y for box in layout(3, []).boxes}) == 1
    assert layout(0, []).boxes == ()


@pytest.mark.parametrize(
    ("count", "edges"),
    [(150, residual(37)), (302, transformer(23))],
    ids=["150 layers of a residual network", "300 of a transformer"],
)
def test_known_networks_fit_a_screen(count: int, edges: list[tuple[int, int]]) -> None:
    made = layout(count, edges)
    check(made, edges)
    assert 1 < made.width / made.height < 3
    assert 2 * len({box.x for box in made.boxes}) < count  # most nodes stand exactly below others


def test_the_way_of_an_edge_is_the_same_each_time() -> None:
    edges = transformer(3)
    assert layout(42, edges) == layout(42, edges)


def test_isotonic_regression_pools_what_is_out_of_order() -> None:
    assert isotonic([1, 2, 3], [1, 1, 1]) == [1, 2, 3]
    assert isotonic([3, 1], [1, 1]) == [2, 2]
    assert isotonic([3, 1], [3, 1]) == [2.5, 2.5]
    assert isotonic([4, 3, 2, 9], [1, 1, 1, 1]) == [3, 3, 3, 9]


def test_what_only_leads_to_a_node_is_right_above_it() -> None:
    """As the states of streaming models are, which are there from the start and used late."""
    edges = [(0, 2), (2, 3), (3, 4), (1, 5), (4, 6), (5, 6), (6, 7)]
    made = layout(8, sorted(edges))
    assert made.boxes[5].y == made.boxes[4].y
    assert made.boxes[1].y == made.boxes[3].y
    assert made.boxes[0].y < made.boxes[1].y
