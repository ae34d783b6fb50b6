"""OpenVINO's files made to do harm: XML that grows or never ends, constants outside, layers in circles."""

import numpy as np
from support.hostile_files import Case, file
from support.openvino_files import Weights, layer, net, parameter, port, result, written

X = parameter(0, (1, 4))
RELU = layer(1, "ReLU", 1, [port(1, (1, 4))])
ENDS = {(1, 0): (0, 0), (2, 0): (1, 1)}
NET = net([X, RELU, result(2)], ENDS)
BOMB = '<!DOCTYPE net [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>' + NET
OUTSIDE = '<!DOCTYPE net [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + NET


def constant(**changes: object) -> str:
    """A net that adds a constant which says something else of itself."""
    given = {"element_type": "f32", "shape": "1,4", "offset": 0, "size": 16} | changes
    stored = layer(3, "Const", outputs=[port(0, (1, 4))], **given)
    add = layer(1, "Add", 2, [port(2, (1, 4))], auto_broadcast="numpy")
    return net([X, stored, add, result(2)], {(1, 0): (0, 0), (1, 1): (3, 0), (2, 0): (1, 2)})


def instead(of_relu: str) -> str:
    return net([X, of_relu, result(2)], ENDS)


def loop(trips: int) -> tuple[str, bytes]:
    """A body of one layer, so many times."""
    weights = Weights()
    ends = (
        '<port_map><input external_port_id="2" internal_layer_id="0"/>'
        '<output external_port_id="3" internal_layer_id="2"/></port_map>'
        '<back_edges><edge from-layer="2" to-layer="0"/></back_edges>'
    )
    body = net([X, RELU, result(2)], ENDS, "body")
    layers = [
        X,
        weights.constant(3, "i64", np.array(trips)),
        weights.constant(4, "boolean", np.array(True)),
        layer(1, "Loop", 3, [port(3, (1, 4))], "opset5", ends + body),
        result(2),
    ]
    sources = {(1, 0): (3, 0), (1, 1): (4, 0), (1, 2): (0, 0), (2, 0): (1, 3)}
    return net(layers, sources), weights.raw


CASES = {
    "entities that grow": Case("E0402", "document type", written(BOMB)),
    "entity of another file": Case("E0402", "document type", written(OUTSIDE)),
    "elements without end": Case("E0402", "nested", written("<net version='11'>" + "<a>" * 5000)),
    "cut off": Case("E0401", "not valid XML", written(NET[:-40])),
    "without layers": Case("E0401", "0 elements layers", written("<net version='11'></net>")),
    "of an older version": Case("E0205", "version 7", written(net([X, RELU, result(2)], ENDS, version=7))),
    "without weights": Case("E0104", "weights net.bin is missing", file("net.xml", constant().encode())),
    "constant outside": Case("E0401", "takes bytes 8 to 24 of 16", written(constant(offset=8), bytes(16))),
    "constant before": Case("E0401", "takes bytes -8", written(constant(offset=-8), bytes(16))),
    "constant that is short": Case("E0401", "there are 8", written(constant(size=8), bytes(16))),
    "constant beyond reason": Case("E0402", "absurd", written(constant(shape="1099511627776,4"), bytes(16))),
    "constant of open size": Case("E0401", "of the shape", written(constant(shape="?,4"), bytes(16))),
    "constant of no known type": Case("E0204", "element type nf4", written(constant(element_type="nf4"))),
    "circle": Case("E0401", "in a circle", written(net([RELU, result(2)], {(1, 0): (1, 1), (2, 0): (1, 1)}))),
    "edge to nothing": Case("E0401", "an edge", written(net([X, RELU], {(1, 0): (7, 0)}))),
    "input without edge": Case(
        "E0401", "nothing leads", written(net([X, RELU, result(2)], {(2, 0): (1, 1)}))
    ),
    "two of a number": Case("E0401", "two layers", written(net([X, X, RELU, result(2)], ENDS))),
    "unknown operator": Case("E0201", "unsupported op Warp", written(instead(layer(1, "Warp", 1)))),
    "operator of an extension": Case(
        "E0201", "ReLU of mine", written(instead(layer(1, "ReLU", 1, version="mine")))
    ),
    "type that lies": Case(
        "E0401", "the file says f32[1,5]", written(instead(layer(1, "ReLU", 1, [port(1, (1, 5))])))
    ),
    "unknown setting": Case(
        "E0203", "slope", written(instead(layer(1, "ReLU", 1, [port(1, (1, 4))], slope=2)))
    ),
    "setting that is no number": Case(
        "E0401",
        "should be a number",
        written(instead(layer(1, "Elu", 1, [port(1, (1, 4))], alpha="__import__"))),
    ),
    "loop without end": Case("E0402", "operators", written(*loop(1 << 40))),
    "body without ends": Case(
        "E0401", "port_map", written(instead(layer(1, "If", 1, [port(1, (1, 4))], "opset8")))
    ),
}
