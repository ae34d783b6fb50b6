"""Graph models of TensorFlow.js, and what it computes of them: record_tfjs_graphs.py FOLDER [NAME ...].

Frozen nets of TensorFlow go through its optimizer, layers are fused with what follows them, and constants
go into the manifest, as tensorflowjs_converter does it. TensorFlow.js 4.22 ran them in node.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np
from google.protobuf import json_format

sys.path.insert(0, str(Path(__file__).resolve().parent))

import tensorflow as tf
from record_tensorflow import traced
from tensorflow.core.protobuf import config_pb2, device_properties_pb2, meta_graph_pb2
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
from tensorflow.python.grappler import cluster, tf_optimizer

NETS = ("causal_attention", "dense", "dilated", "inception", "merges", "mobilenet_v2", "resnet", "unet")
_OPTIMIZERS = ["pruning", "constfold", "arithmetic", "dependency", "pruning", "constfold"]
_FUSED = {
    "Conv2D": "_FusedConv2D",
    "DepthwiseConv2dNative": "FusedDepthwiseConv2dNative",
    "MatMul": "_FusedMatMul",
}
_ACTIVATIONS = ("Elu", "Relu", "Relu6", "Sigmoid")


def record(folder: Path, name: str) -> None:
    concrete, xs, _ = traced(name)
    frozen = convert_variables_to_constants_v2(concrete)
    graph = fused(optimized(frozen))
    weights, manifest = [], []
    for node in graph.node:
        if node.op == "Const" and node.attr["dtype"].type != tf.string.as_datatype_enum:
            array = tf.make_ndarray(node.attr["value"].tensor)
            kind = {"float32": "float32", "int32": "int32", "bool": "bool", "int64": "int32"}[
                str(array.dtype)
            ]
            node.attr["value"].tensor.Clear()
            node.attr["dtype"].type = tf.as_dtype(kind).as_datatype_enum
            weights.append(array.astype(np.uint8 if kind == "bool" else kind).tobytes())
            manifest.append({"name": node.name, "shape": list(array.shape), "dtype": kind})
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    (place / "group1-shard1of1.bin").write_bytes(b"".join(weights))
    model = {"format": "graph-model", "generatedBy": tf.__version__, "signature": signature(frozen)}
    model["modelTopology"] = json_format.MessageToDict(graph)
    model["weightsManifest"] = [{"paths": ["group1-shard1of1.bin"], "weights": manifest}]
    (place / "model.json").write_text(json.dumps(model))
    given = [{"data": x.ravel().tolist(), "shape": x.shape, "dtype": str(x.dtype)} for x in xs]
    script = Path(__file__).with_name("run_tfjs_graph.cjs")
    names = [t.name for t in frozen.inputs], [t.name for t in frozen.outputs]
    text = json.dumps({"inputs": given, "names": names})
    done = subprocess.run(
        ["node", str(script), str(place)], input=text, text=True, check=True, stdout=subprocess.PIPE
    )
    arrays = {f"x{i}": x for i, x in enumerate(xs)}
    for i, y in enumerate(json.loads(done.stdout.splitlines()[-1])):
        arrays[f"y{i}"] = np.array(y["data"], y["dtype"]).reshape(y["shape"])
    np.savez_compressed(place / "io.npz", **arrays)


def optimized(frozen: Any) -> Any:
    meta = meta_graph_pb2.MetaGraphDef()
    meta.graph_def.CopyFrom(frozen.graph.as_graph_def())
    for tensor in [*frozen.inputs, *frozen.outputs]:
        meta.collection_def["train_op"].node_list.value.append(tensor.name)
    config = config_pb2.ConfigProto()
    config.graph_options.rewrite_options.optimizers.extend(_OPTIMIZERS)
    device = device_properties_pb2.NamedDevice(name="/CPU:0")  # layers are fused for a device only
    device.properties.type = "CPU"
    device.properties.environment.update({"architecture": "4"})
    return tf_optimizer.OptimizeGraph(config, meta, cluster=cluster.Cluster(devices=[device]))


def fused(graph: Any) -> Any:
    """Layers with their bias and an activation, each of which nothing else reads, in one node."""
    readers: dict[str, list[Any]] = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    gone = set()
    for node in graph.node:
        chain = []
        while len(found := readers.get((chain or [node])[-1].name, [])) == 1 and len(chain) < 2:
            if found[0].op != "BiasAdd" if not chain else found[0].op not in _ACTIVATIONS:
                break
            chain.append(found[0])
        if node.op in _FUSED and chain:
            last = chain[-1]
            kinds = [one.op.encode() for one in chain]
            last.op, inputs = _FUSED[node.op], [*node.input, chain[0].input[1]]
            del last.input[:]
            last.input.extend(inputs)
            last.attr.clear()
            for key, given in node.attr.items():
                last.attr[key].CopyFrom(given)
            last.attr["fused_ops"].list.s.extend(kinds)
            last.attr["num_args"].i = 1
            last.attr["epsilon"].f = 0.001
            gone |= {one.name for one in (node, *chain[:-1])}
    kept = [node for node in graph.node if node.name not in gone]
    made = type(graph)(versions=graph.versions)
    made.node.extend(kept)
    return made


def signature(frozen: Any) -> Any:
    """Inputs and outputs in their order, which is that of their names here."""

    def infos(tensors: Any, prefix: str) -> Any:
        made = {}
        for i, t in enumerate(tensors):
            dims = [{"size": str(-1 if n is None else n)} for n in t.shape]
            kind = "DT_" + t.dtype.name.upper().replace("FLOAT32", "FLOAT")
            made[f"{prefix}{i:02}"] = {"name": t.name, "dtype": kind, "tensorShape": {"dim": dims}}
        return made

    return {"inputs": infos(frozen.inputs, "x"), "outputs": infos(frozen.outputs, "y")}


if __name__ == "__main__":
    for chosen in sys.argv[2:] or NETS:
        record(Path(sys.argv[1]), chosen)
        keras.backend.clear_session()
