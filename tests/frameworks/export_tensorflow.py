"""Exports the shared net with the installed TensorFlow: export_tensorflow.py FOLDER."""

import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).resolve().parent))

from export_keras import shared_net  # the path comes first
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2


def export(folder: Path) -> None:
    """As a graph that is frozen."""
    folder.mkdir(parents=True, exist_ok=True)
    net = shared_net()
    spec = tf.TensorSpec((1, 16, 16, 3), tf.float32, name="x")
    concrete = tf.function(lambda x: net(x, training=False)).get_concrete_function(spec)
    frozen = convert_variables_to_constants_v2(concrete).graph.as_graph_def()
    (folder / "net.pb").write_bytes(frozen.SerializeToString(deterministic=True))


if __name__ == "__main__":
    export(Path(sys.argv[1]))
