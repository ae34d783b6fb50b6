"""Saves nets of TensorFlow, and what it computes: record_tensorflow.py FOLDER [NAME ...].

TensorFlow 2.21 with Keras 3.15 wrote what the tests read.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
sys.path.insert(0, str(Path(__file__).resolve().parent))

import keras
import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from nets_tensorflow import DYNAMIC, NETS, settle
from saved_models_tensorflow import SAVED
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

TEXTS = ("dense", "slices", "constants", "graph_with_variables")
Recorded = tuple[list[np.ndarray], list[np.ndarray]]  # inputs and outputs


def record(folder: Path, name: str) -> None:
    (folder / name).mkdir(parents=True, exist_ok=True)
    xs, ys = (_saved if name in SAVED else _frozen)(folder / name, name)
    arrays = {f"x{i}": x for i, x in enumerate(xs)} | {f"y{i}": y for i, y in enumerate(ys)}
    np.savez_compressed(folder / name / "io.npz", **arrays)


def _saved(folder: Path, name: str) -> Recorded:
    """A SavedModel; inputs and outputs of its usual entry by name."""
    save, xs = SAVED[name]()
    save(folder)
    (folder / "fingerprint.pb").unlink(missing_ok=True)
    entry = tf.saved_model.load(folder).signatures["serving_default"]
    names = sorted(entry.structured_input_signature[1])
    results = entry(**{key: tf.constant(x) for key, x in zip(names, xs, strict=True)})
    return xs, [results[key].numpy() for key in sorted(results)]


def _frozen(folder: Path, name: str) -> Recorded:
    """The graph with its weights as constants."""
    concrete, xs, _ = traced(name)
    frozen = convert_variables_to_constants_v2(concrete, lower_control_flow=False)
    (folder / "net.pb").write_bytes(frozen.graph.as_graph_def().SerializeToString(deterministic=True))
    return xs, [y.numpy() for y in frozen(*map(tf.constant, xs))]


def as_text(folder: Path, name: str) -> None:
    """A recorded net once more, with its graph as text."""
    kind = saved_model_pb2.SavedModel if name in SAVED else graph_pb2.GraphDef
    file = "saved_model" if name in SAVED else "net"
    shutil.copytree(folder / name, folder / f"text_{name}", dirs_exist_ok=True)
    path = folder / f"text_{name}" / f"{file}.pb"
    path.with_suffix(".pbtxt").write_text(text_format.MessageToString(kind.FromString(path.read_bytes())))
    path.unlink()


def traced(name: str) -> tuple[Any, list[np.ndarray], Any]:
    """The net as a graph, its inputs, and what holds its weights."""
    made, xs = NETS[name]()
    if isinstance(made, keras.Model):
        settle(made)
        body = lambda *given: made(given if len(given) > 1 else given[0], training=False)  # noqa: E731  # of a model
    else:
        body = made
    shapes = [[None, *x.shape[1:]] if name in DYNAMIC else x.shape for x in xs]
    specs = [
        tf.TensorSpec(shape, x.dtype, name=f"x{i}")
        for i, (shape, x) in enumerate(zip(shapes, xs, strict=True))
    ]
    return tf.function(body).get_concrete_function(*specs), xs, body


if __name__ == "__main__":
    for chosen in sys.argv[2:] or [*NETS, *SAVED]:
        record(Path(sys.argv[1]), chosen)
        if chosen in TEXTS:
            as_text(Path(sys.argv[1]), chosen)
        keras.backend.clear_session()
