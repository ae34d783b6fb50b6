"""Models of Keras, functional and sequential, as the layers in them: computed from the outputs backwards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgekit.converters.blame import blame
from edgekit.converters.file_formats.json_record import checked
from edgekit.converters.keras.layer import INPUT, MODELS, KerasLayer, apply, frozen
from edgekit.converters.keras.masks import RECURRENT, Mask, MaskRules
from edgekit.converters.keras.weights import Weights
from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError

# A layer, which of its calls, and which of that call's results.
Place = tuple[str, int, int]
_MAX_DEPTH = 32


@dataclass(frozen=True)
class LayerCall:
    """One use of a layer: what it is given, with places where results of others belong."""

    layer: KerasLayer
    number: int
    weights: Weights
    operands: Sequence[Any]
    options: Mapping[str, Any]

    @property
    def reads(self) -> list[tuple[str, int]]:
        return [place[:2] for place in _places([*self.operands, *self.options.values()])]


class Model:
    """A model while it is computed: results of calls, by layer and number of the call."""

    def __init__(
        self,
        builder: Builder,
        model: KerasLayer,
        weights: Weights,
        rules: MaskRules,
        depth: int = 0,
        path: str = "",
    ) -> None:
        if depth > _MAX_DEPTH:
            raise EdgeKitError("E0402", "models are nested without end", f"layer {model.name}")
        self.builder = builder
        self.model = model
        self.rules = rules
        self.depth = depth
        self.path = path  # of a model in models, which is how layers of theirs are told apart
        self.layers = list(model.inner())
        self.calls: dict[tuple[str, int], LayerCall] = {}
        self.made: dict[tuple[str, int], tuple[Tensor, ...]] = {}
        self.masks: dict[tuple[str, int], tuple[Mask, ...]] = {}
        self._find_calls(weights)

    @property
    def inputs(self) -> list[Place]:
        """Where the inputs of the model are."""
        if self.model.kind == "Sequential":
            first = self.layers[0].name if self.layers and self.layers[0].kind == INPUT else ""
            return [(first, 0, 0)]
        return list(_ends(self.model.config.fields.get("input_layers")))

    def run(self, operands: Sequence[Tensor], masks: Sequence[Mask] = ()) -> tuple[Tensor, ...]:
        """The outputs of the model for these inputs, of which some have masks."""
        inputs = self.inputs
        if len(operands) != len(inputs):
            message = f"the model has {len(inputs)} inputs, {len(operands)} are given"
            raise EdgeKitError("E0401", message, f"layer {self.model.name}")
        self.made |= {place[:2]: (x,) for place, x in zip(inputs, operands, strict=True)}
        self.masks |= {place[:2]: (mask,) for place, mask in zip(inputs, masks, strict=False)}
        return tuple(self._result(place) for place in self.outputs)

    @property
    def outputs(self) -> list[Place]:
        if self.model.kind == "Sequential":
            return [(self.layers[-1].name if self.layers else "", 0, 0)]
        # Keras 3 counts the calls of a model in a model from 1, but here only.
        inner = {layer.name for layer in self.layers if layer.kind in ("Functional", "Model")}
        from_one = {name for name in inner if (name, 0) in self.calls}
        ends = _ends(self.model.config.fields.get("output_layers"))
        return [(name, number - (name in from_one), at) for name, number, at in ends]

    def _find_calls(self, weights: Weights) -> None:
        used: dict[str, int] = {}
        last = ""
        names: set[str] = set()
        for layer in self.layers:
            own = weights
            if not layer.is_operation:
                kept = _snake_case(layer.kind)
                used[kept] = used.get(kept, -1) + 1
                kept = f"{kept}_{used[kept]}" if used[kept] else kept
                own = weights.part(f"layers/{kept}", layer.name)
            if layer.name in names:
                raise EdgeKitError("E0401", f"two layers are called {layer.name}", f"layer {self.model.name}")
            names.add(layer.name)
            if self.model.kind == "Sequential":
                operands = [] if layer.kind == INPUT else [(last, 0, 0)]
                self.calls[layer.name, 0] = LayerCall(layer, 0, own, operands, {})
                last = layer.name
                continue
            nodes = layer.record.items("inbound_nodes", [])
            for i, node in enumerate(nodes, _first_call(layer, nodes)):
                self.calls[layer.name, i] = LayerCall(layer, i, own, *_arguments(node, layer))

    def _result(self, place: Place) -> Tensor:
        """A result, once all that it needs is computed: by a stack, as models may be deep."""
        waiting = [place[:2]]
        opened: set[tuple[str, int]] = set()
        while waiting:
            at = waiting[-1]
            if at in self.made:
                waiting.pop()
                continue
            if at not in self.calls:
                raise EdgeKitError("E0401", f"{at[0]} is computed by nothing", f"layer {self.model.name}")
            missing = [read for read in self.calls[at].reads if read not in self.made]
            if missing and at in opened:
                raise EdgeKitError("E0401", "needs its own result", f"layer {at[0]}")
            opened.add(at)
            if missing:
                waiting += missing
            else:
                self.made[at] = self._called(self.calls[at])
        return self._at(place)

    def _called(self, call: LayerCall) -> tuple[Tensor, ...]:
        layer = call.layer
        self.builder.origin = self.path + layer.name
        operands = [self._filled(operand) for operand in call.operands]
        options = {key: self._filled(value) for key, value in call.options.items()}
        masks = [self._mask(operand) for operand in call.operands]
        with blame(f"layer {layer.name}"):
            if layer.kind in MODELS:
                explicit = options.get("mask")
                return self._nested(call, operands, masks if explicit is None else [explicit])
            named = {key: self._mask(value) for key, value in call.options.items()}
            stated = {key: value for key, value in options.items() if value is not None}
            options = self.rules.read(layer, masks, named, options) | stated
            results = apply(layer, operands, options, call.weights)
            explicit = options.get("mask")
            masks = [explicit] if isinstance(explicit, Tensor) else masks
            self.masks[layer.name, call.number] = self.rules.passed(layer, operands, masks, results)
            for at in call.reads if self.rules.takes_away(layer) else ():
                self.masks.pop(at, None)
            return results

    def _nested(self, call: LayerCall, operands: Sequence[Any], masks: Sequence[Any]) -> tuple[Tensor, ...]:
        """The results of a model within this one, and their masks."""
        given = [(x, m) for x, m in zip(_flat(operands), _flat(masks), strict=True) if isinstance(x, Tensor)]
        path = f"{self.path}{call.layer.name}/"
        inner = Model(self.builder, call.layer, call.weights, self.rules, self.depth + 1, path)
        results = inner.run([x for x, _ in given], [m for _, m in given])
        self.masks[call.layer.name, call.number] = tuple(inner.mask(place) for place in inner.outputs)
        return results

    def mask(self, place: Place) -> Mask:
        """Which steps of a result count; None: all."""
        masks = self.masks.get(place[:2], ())
        return masks[place[2]] if place[2] < len(masks) else None

    def _mask(self, value: Any) -> Any:
        """The masks of an operand, in its structure."""
        if _is_place(value):
            return self.mask(value)
        return [self._mask(item) for item in value] if isinstance(value, list) else None

    def _filled(self, value: Any) -> Any:
        """An operand with results of layers in their places."""
        if _is_place(value):
            return self._at(value)
        return [self._filled(item) for item in value] if isinstance(value, list) else frozen(value)

    def _at(self, place: Place) -> Tensor:
        results = self.made[place[:2]]
        if place[2] >= len(results):
            raise EdgeKitError("E0401", f"{place[0]} has no result {place[2]}", f"layer {self.model.name}")
        return results[place[2]]


def _first_call(layer: KerasLayer, nodes: Sequence[Any]) -> int:
    """Keras 2 counts how a model with inputs of its own was made as its call 0, and leaves it out."""
    parts = list(layer.inner()) if layer.kind in MODELS else []
    is_older = bool(nodes) and not isinstance(nodes[0], dict)
    has_inputs = bool(parts) and (parts[0].kind == INPUT or "batch_input_shape" in parts[0].config)
    return 1 if is_older and has_inputs else 0


def _arguments(node: Any, layer: KerasLayer) -> tuple[list[Any], dict[str, Any]]:
    """What a call gives a layer: as Keras 3 writes it, or as lists of [layer, call, result, options]."""
    name = layer.name
    if isinstance(node, dict):
        options = checked(node.get("kwargs", {}), dict, f"kwargs of {name}")
        operands = checked(node.get("args", []), list, f"args of {name}")
        return [_placed(a) for a in operands], {k: _placed(v) for k, v in options.items()}
    edges = [checked(edge, list, f"inputs of {name}") for edge in checked(node, list, f"inputs of {name}")]
    options = {}
    for edge in edges:
        if len(edge) == 4:
            options |= {k: _legacy(v) for k, v in checked(edge[3], dict, f"options of {name}").items()}
    operands = [_place(edge[:3]) for edge in edges]
    if layer.kind in RECURRENT and len(operands) > 1:
        return operands[:1], options | {"initial_state": operands[1:]}
    return (operands if len(operands) == 1 else [operands]), options


def _legacy(value: Any) -> Any:
    """Options of older files name results by lists, too."""
    is_edge = isinstance(value, list) and len(value) in (3, 4) and isinstance(value[0], str)
    return _place(value[:3]) if is_edge else value


def _placed(value: Any) -> Any:
    """Arguments with places where the file describes tensors."""
    if isinstance(value, list):
        return [_placed(item) for item in value]
    if not isinstance(value, dict):
        return value
    config = value.get("config")
    if value.get("class_name") == "__keras_tensor__" and isinstance(config, dict):
        return _place(config.get("keras_history"))
    if value.get("class_name") in ("__tuple__", "__list__") and "items" in value:
        return [_placed(item) for item in checked(value["items"], list, "items")]
    if value.get("class_name") == "__slice__" and isinstance(config, dict):
        return slice(config.get("start"), config.get("stop"), config.get("step"))
    if "class_name" in value:
        raise EdgeKitError("E0205", f"an argument of class {str(value['class_name'])[:60]} is not supported")
    return {key: _placed(item) for key, item in value.items()}


def _place(value: Any) -> Place:
    if not isinstance(value, list) or [type(v) for v in value] != [str, int, int] or min(value[1:]) < 0:
        raise EdgeKitError("E0401", f"a tensor should be a layer and two numbers, is {str(value)[:60]}")
    return value[0], value[1], value[2]


def _is_place(value: Any) -> bool:
    return isinstance(value, tuple) and [type(v) for v in value] == [str, int, int]


def _places(value: Any) -> Iterator[Place]:
    if _is_place(value):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _places(item)


def _ends(value: Any) -> Iterator[Place]:
    """Inputs or outputs of a model: one place, or any structure of them."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list) and [type(v) for v in value] == [str, int, int]:
        yield _place(value)
    elif isinstance(value, list):
        for item in value:
            yield from _ends(item)
    else:
        raise EdgeKitError("E0401", "a model does not say where it begins and ends")


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _flat(item)
    else:
        yield value


def _snake_case(name: str) -> str:
    """How Keras calls the group of a class."""
    name = re.sub(r"\W+", "", name)
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()
