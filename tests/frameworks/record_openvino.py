"""Writes nets of OpenVINO's operators, and what it computes of them: record_openvino.py FOLDER [NAME ...].

Without names these are all of nets_openvino.py. Some have weights in 16 bits, which is OpenVINO's default.
OpenVINO 2026.4 wrote what the tests read.
"""

import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import openvino as ov
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent))

from nets_openvino import NETS  # the path comes first


def record(folder: Path, name: str) -> None:
    """The two files, the inputs and the outputs in io.npz."""
    made = NETS[name]()
    results = list(made) if isinstance(made, list) else [made]
    model = ov.Model(results, list(_parameters(results)), name)
    (folder / name).mkdir(parents=True, exist_ok=True)
    path = folder / name / "net.xml"
    ov.save_model(model, path, compress_to_fp16=zlib.crc32(name.encode()) % 4 == 0)
    core = ov.Core()
    compiled = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    random = np.random.default_rng(1)
    inputs = [_input(given, random) for given in compiled.inputs]
    outputs = [np.array(y) for y in compiled.create_infer_request().infer(inputs).values()]
    stored = {f"x{i}": x for i, x in enumerate(inputs)} | {f"y{i}": y for i, y in enumerate(outputs)}
    np.savez(path.with_name("io.npz"), **stored)


def _parameters(results: list[ov.Output]) -> Iterator[ov.Node]:
    """What results depend on that is no constant, in the order in which it is met."""
    queue, seen = [getattr(r, "get_node", lambda r=r: r)() for r in results], set()
    while queue:
        node = queue.pop(0)
        if node.get_name() in seen:
            continue
        seen.add(node.get_name())
        if node.get_type_name() == "Parameter":
            yield node
        queue += [given.get_node() for given in node.input_values()]


def _input(given: ov.ConstOutput, random: np.random.Generator) -> NDArray[np.generic]:
    kind, shape = given.get_element_type(), tuple(given.get_shape())
    if kind == ov.Type.boolean:
        return random.random(shape) < 0.5
    if kind.is_integral():
        return random.integers(-1, 4, shape).astype(kind.to_dtype())
    return random.standard_normal(shape).astype(kind.to_dtype())


if __name__ == "__main__":
    for chosen in sys.argv[2:] or NETS:
        record(Path(sys.argv[1]), chosen)
