"""SavedModels of TensorFlow 2 and 1: how each is saved, and what its usual entry computes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import nets_tensorflow_detectors  # noqa: F401  # adds nets, and so does what it imports
import nets_tensorflow_loops  # noqa: F401  # as well
import numpy as np
import tensorflow as tf
from nets_tensorflow import NETS, real, settle

Saved = tuple[Callable[[Path], None], list[np.ndarray]]
SAVED: dict[str, Callable[[], Saved]] = {}


def saved(make: Callable[[], Saved]) -> Callable[[], Saved]:
    SAVED[make.__name__] = make
    return make


def _exported(name: str) -> Callable[[], Saved]:
    """A net of Keras as model.export saves it."""

    def make() -> Saved:
        model, xs = NETS[name]()
        settle(model)
        return lambda folder: model.export(folder, verbose=False), xs

    return make


def _of_function(name: str) -> Callable[[], Saved]:
    """A function of a module, with its inputs as they are."""

    def make() -> Saved:
        body, xs = NETS[name]()
        module = tf.Module()
        specs = [tf.TensorSpec(x.shape, x.dtype, name=f"x{i}") for i, x in enumerate(xs)]
        module.serve = tf.function(body, input_signature=specs)
        return lambda folder: tf.saved_model.save(module, folder, module.serve), xs

    return make


SAVED["saved_branches"] = _of_function("branches")
for _name in (
    "lstm",
    "gru",
    "dense",
    "mobilenet_v2",
    "resnet",
    "unet",
    "words",
    "transformer",
    "lines",
    "merges",
):
    SAVED[f"exported_{_name}"] = _exported(_name)


class Entries(tf.Module):
    """Two entries over the same variables, one of which is in a list."""

    def __init__(self) -> None:
        super().__init__()
        self.w = [tf.Variable(real(4, 3)), tf.Variable(real(3, 2))]
        self.b = tf.Variable(real(2))

    @tf.function(input_signature=[tf.TensorSpec([None, 4], name="x")])
    def serve(self, x: Any) -> Any:
        return {"logits": self._hidden(x) @ self.w[1] + self.b, "hidden": self._hidden(x)}

    @tf.function(input_signature=[tf.TensorSpec([2, 4], name="x")])
    def features(self, x: Any) -> Any:
        return self._hidden(x)

    @tf.function
    def _hidden(self, x: Any) -> Any:
        return tf.nn.relu(x @ self.w[0])


@saved
def two_entries() -> Saved:
    module = Entries()
    signatures = {"serving_default": module.serve, "features": module.features}
    return lambda folder: tf.saved_model.save(module, folder, signatures), [real(1, 4)]


class Counter(tf.Module):
    """A sum of all inputs so far."""

    def __init__(self) -> None:
        super().__init__()
        self.total = tf.Variable(real(3))

    @tf.function(input_signature=[tf.TensorSpec([3], name="x")])
    def __call__(self, x: Any) -> Any:
        self.total.assign_add(x)
        return self.total * 2.0


@saved
def states() -> Saved:
    module = Counter()
    return lambda folder: tf.saved_model.save(module, folder, module.__call__), [real(3)]


def _of_graph(is_resource: bool) -> Callable[[], Saved]:
    """A graph of TensorFlow 1, whose variables are results or resources."""

    def make() -> Saved:
        x, w, b = real(1, 6, 6, 2), real(3, 3, 2, 4), real(4)

        def save(folder: Path) -> None:
            v1 = tf.compat.v1
            with tf.Graph().as_default(), v1.Session() as session:
                given = v1.placeholder(tf.float32, [None, 6, 6, 2], "image")
                options: dict[str, Any] = {"use_resource": is_resource}
                kernel = v1.get_variable("kernel", initializer=w, **options)
                bias = v1.get_variable("bias", initializer=b, **options)
                y = tf.nn.relu(tf.nn.conv2d(given, kernel, 1, "SAME") + bias)
                session.run(v1.global_variables_initializer())
                v1.saved_model.simple_save(session, str(folder), {"image": given}, {"y": y})

        return save, [x]

    return make


SAVED["graph_with_variables"] = _of_graph(False)
SAVED["graph_with_resources"] = _of_graph(True)


@saved
def many_shapes() -> Saved:
    """Variables of other types than float32."""
    module = tf.Module()
    module.table = tf.Variable(np.arange(12, dtype=np.int64).reshape(4, 3))
    module.scale = tf.Variable(np.float64(0.5))
    module.half = tf.Variable(real(3).astype(np.float16))

    @tf.function(input_signature=[tf.TensorSpec([2], tf.int32, name="i")])
    def serve(i: Any) -> Any:
        rows = tf.cast(tf.gather(module.table, i), tf.float64) * module.scale
        return tf.cast(rows, tf.float32) + tf.cast(module.half, tf.float32)

    module.serve = serve
    return lambda folder: tf.saved_model.save(module, folder, serve), [np.array([3, 1], np.int32)]
