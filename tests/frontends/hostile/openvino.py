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


def slices(first: str, last: str) -> str:
    """A body over slices of x."""
    ends = (
        f'<port_map><input axis="1" external_port_id="0" internal_layer_id="0" start="{first}" end="{last}"/>'
        '<output external_port_id="1" internal_layer_id="2"/></port_map>'
    )
    body = net([parameter(0, (1, 1)), layer(1, "ReLU", 1, [port(1, (1, 1))]), result(2)], ENDS, "body")
    return instead(layer(1, "TensorIterator", 1, [port(1, (1, 1))], "opset1", ends + body))


CASES = {
    "entities that grow": Case("E0402", "document type", written(BOMB)),
    "entity of another file": Case("E0402", "document type", written(OUTSIDE)),
    "elements without end": Case("E0402", "nested", written("<net version='11'>" + "<a>" * 5000)),
    "text without end": Case(
        "E0401", "should be an integer", written(NET.replace("<dim>", "<dim>" + "9" * (1 << 22), 1))
    ),
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
    "loop that never runs": Case("E0205", "never runs", written(*loop(0))),
    "loop without a count": Case("E0205", "without a count", written(*loop(-1))),
    "slices outside": Case("E0401", "slices of", written(slices("9", "12"))),
    "iterations over nothing": Case(
        "E0205", "over nothing", written(slices("0", "-1").replace('axis="1" ', ""))
    ),
    "result that leads nowhere": Case(
        "E0401",
        "leads nowhere",
        written(slices("0", "-1").replace('external_port_id="1"', 'external_port_id="9"')),
    ),
    "body without its result": Case(
        "E0401",
        "by nothing",
        written(slices("0", "-1").replace('internal_layer_id="2"', 'internal_layer_id="7"')),
    ),
    "nothing computed": Case("E0401", "computes nothing", written(net([X], {}))),
    "inputs of one name": Case(
        "E0401", "same name", written(net([parameter(i, (4,), names="x") for i in (0, 1)], {}))
    ),
    "result that is not there": Case(
        "E0205", "result 7", written(net([X, RELU, result(2)], {**ENDS, (2, 0): (1, 7)}))
    ),
    "broadcast of another kind": Case(
        "E0205",
        "broadcast by pdpd",
        written(constant().replace('auto_broadcast="numpy"', 'auto_broadcast="pdpd"'), bytes(16)),
    ),
    "flag that is none": Case(
        "E0401",
        "true or false",
        written(
            instead(
                layer(1, "MVN", 1, [port(1, (1, 4))], eps=0.1, across_channels="maybe", normalize_variance=1)
            )
        ),
    ),
    "state of open size": Case(
        "E0301",
        "is open",
        written(
            instead(
                layer(
                    1,
                    "ReadValue",
                    0,
                    [port(1, (1, 4))],
                    "opset6",
                    variable_id="m",
                    variable_shape="?,4",
                    variable_type="f32",
                )
            ).replace('<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>', "")
        ),
    ),
    "loop without end": Case("E0402", "operators", written(*loop(1 << 40))),
    "layer without a body": Case(
        "E0401",
        "has no then_body",
        written(instead(layer(1, "If", 1, [port(1, (1, 4))], "opset8", "<then_port_map/>"))),
    ),
    "body without ends": Case(
        "E0401", "port_map", written(instead(layer(1, "If", 1, [port(1, (1, 4))], "opset8")))
    ),
}
