"""Saves detectors as tf2onnx writes them, and what TensorFlow computes: record_tf2onnx_detectors.py FOLDER.

tf2onnx 1.17 and TensorFlow 2.21 wrote what the tests read.
"""

import sys
from pathlib import Path

import nets_tensorflow_detectors  # noqa: F401  # adds nets
import numpy as np
import tensorflow as tf
import tf2onnx
from nets_tensorflow import NETS


def record(folder: Path, name: str) -> None:
    body, xs = NETS[name]()
    given = [tf.TensorSpec(x.shape, x.dtype, name=f"x{i}") for i, x in enumerate(xs)]
    traced = tf.function(body, input_signature=given)
    folder.mkdir(parents=True, exist_ok=True)
    tf2onnx.convert.from_function(
        traced, input_signature=given, opset=15, output_path=str(folder / "net.onnx")
    )
    arrays = {f"x{i}": x for i, x in enumerate(xs)}
    np.savez(folder / "io.npz", **arrays, **{f"y{i}": np.asarray(y) for i, y in enumerate(traced(*xs))})


if __name__ == "__main__":
    for chosen in (name for name in NETS if name.startswith("detections") and "soft" not in name):
        record(Path(sys.argv[1]) / chosen, chosen)
