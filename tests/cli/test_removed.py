"""Dead channels that are removed when a model is read: commands and pages say so."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from support.command_line import CommandLine
from support.onnx_models import model, node, tensor
from support.tools import require

import edgekit

# Without three of eight filters: 6 x 6 x (3 x 3 x 3) x 3, and 6 x 6 x (1 x 1 x 3) x 4 where they were read.
MACS_BEFORE, MACS = 36 * (27 * 8 + 8 * 4), 36 * (27 * 3 + 3 * 4)
BYTES = 4 * (27 * 3 + 3 + 3 * 4)
SAID = f"3 dead channels, {MACS / MACS_BEFORE:.1%} of MACs, {BYTES:,} B of weights"


@pytest.fixture
def dead(folder: Path) -> str:
    """Two convolutions; three filters of the first are zero, as training with weight decay leaves them."""
    random = np.random.default_rng(0)
    w = random.normal(size=(8, 3, 3, 3)).astype(np.float32)
    w[[1, 4, 5]] = 0
    constants = {
        "w": w,
        "b": np.zeros(8, np.float32),
        "v": random.normal(size=(4, 8, 1, 1)).astype(np.float32),
        "c": np.zeros(4, np.float32),
    }
    nodes = [
        node("Conv", "x w b", "y", pads=[1, 1, 1, 1]),
        node("Conv", "y v c", "z"),
    ]
    onnx.save(
        model(nodes, constants, inputs=[tensor("x", [1, 3, 6, 6])], outputs=["z"]), folder / "dead.onnx"
    )
    return "dead.onnx"


def test_commands_say_how_many_channels_went_and_where(dead: str, cli: CommandLine) -> None:
    require("gcc")
    for words in (
        ("convert", dead),
        ("inspect", dead),
        ("inspect", "dead.ek"),  # which keeps it
        ("build", dead, "--no-verify", "-o", "out"),
    ):
        text = cli.ok(*words).out
        assert SAID in text
        assert "Conv_y 3 of 8" in text
        assert "Conv_z" not in text.partition("removed")[2].split("arena")[0]  # it only reads less
        removed = cli.ok(*words, "--json").json["removed"]
        assert (removed["channels"], removed["bytes"]) == (3, BYTES)
        assert (removed["macs"], removed["macs_before"]) == (MACS, MACS_BEFORE)
        assert {layer["origin"]: layer["channels"] for layer in removed["layers"]} == {
            "Conv_y": 3,
            "Conv_z": 0,
        }


def test_the_page_says_it(dead: str, cli: CommandLine) -> None:
    cli.ok("report", dead, "-o", "page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    assert f"with 3 dead channels, {BYTES:,} B of weights" in page
    assert '<tr><th scope="row" class="name">Conv_y</th><td class="n">3</td><td class="n">8</td>' in page


def test_a_model_without_dead_channels_says_nothing(cli: CommandLine) -> None:
    assert "removed" not in cli.ok("inspect", "digits.onnx").out
    assert cli.ok("inspect", "digits.onnx", "--json").json["removed"] is None
    cli.ok("report", "digits.onnx", "-o", "page.html")
    assert "Removed" not in Path("page.html").read_text(encoding="utf-8")


def test_pruned_channels_were_not_dead(dead: str, cli: CommandLine) -> None:
    """What pruning takes out is in its own report: the model does not come to it with those channels."""
    cli.ok("prune", dead, "--ratio", "50%", "-o", "small.ek")
    assert edgekit.load("small.ek").source.removed == edgekit.convert(dead).source.removed
