"""Commands of the pages work for models of a reader's own, not only for the examples that they show."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.command_line import CommandLine
from support.tools import ROOT, require, require_module

from edgekit.samples import arrays

PAGES = ("apps", "boards", "browser", "cli", "pruning", "quantization")
# The commonest name of all, and one that no language takes as it is, with ports that none takes either.
MODELS = {"model": ("input", "output"), "3d-faces (v2)": ("image:0", "StatefulPartitionedCall:0")}
CLASSES = 5


def write_model(stem: str, x: str, y: str) -> None:
    """A small network for pictures in colour, as its author exported it."""
    rng = np.random.default_rng(0)
    shapes = {"w": (6, 3, 3, 3), "b": (6,), "v": (216, CLASSES), "c": (CLASSES,)}
    constants = [
        numpy_helper.from_array(rng.normal(0, 0.3, shape).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    nodes = [
        helper.make_node("Conv", [x, "w", "b"], ["conv"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["conv"], ["relu"]),
        helper.make_node("MaxPool", ["relu"], ["pool"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["pool"], ["flat"]),
        helper.make_node("Gemm", ["flat", "v", "c"], [y]),
    ]
    ports = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in ((x, (1, 3, 12, 12)), (y, (1, CLASSES)))
    ]
    graph = helper.make_graph(nodes, "main_graph", ports[:1], ports[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, f"{stem}.onnx")
    pictures = rng.normal(size=(48, 1, 3, 12, 12)).astype(np.float32)
    for name in ("calib", "typical", "x"):
        arrays.save(Path(f"{name}.npz"), {x: pictures[: 8 if name == "x" else None]})
    Path("names.txt").write_text("".join(f"kind {i}\n" for i in range(CLASSES)))


def commands(page: str) -> Iterator[list[str]]:
    """Those of a page that are about its example, or about what they make of it, and end well."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    made: set[str] = set()
    for line, printed in re.findall(r"^(?:\$ )?(edgekit .*?)(?: +#.*)?\n((?:.*\n)*?)(?=```|\$ )", text, re.M):
        words = shlex.split(line)[1:]
        example = re.compile(r"(digits|net)(_int8)?\.(onnx|ek)")
        if any(word in made or example.fullmatch(word) for word in words) and "error: E" not in printed:
            made |= {words[i + 1] for i, word in enumerate(words[:-1]) if word == "-o"}
            yield words


@pytest.mark.parametrize("stem", MODELS)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_works_for_another_model(page: str, stem: str, cli: CommandLine, folder: Path) -> None:
    require("gcc")
    require("qemu-system-arm")
    require_module("ziglang")
    write_model(stem, *MODELS[stem])
    cli.ok(
        "quantize", f"{stem}.onnx", "--data", "calib.npz", "--calibrate", "minmax", "-o", f"{stem}_int8.ek"
    )
    found = [[re.sub(r"^(digits|net)(?=[._])", stem, word) for word in words] for words in commands(page)]
    assert found
    for words in found:
        if words[0] == "run" and not Path(words[1]).exists():
            words[1] = f"{stem}_int8.ek"  # what the page made in a block of its own
        cli.ok(*words)


def test_pages_have_commands_to_follow() -> None:
    assert sum(len(list(commands(page))) for page in PAGES) > 20
