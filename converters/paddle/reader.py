"""PaddlePaddle's .json or .pdmodel with the .pdiparams beside it -> Graph, by the handlers of ops.

Both forms of programs share the handlers. Operands of the older one have names, which are the parameters of a
handler, and where an older operator differs it has a handler of its own beside the newer one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from inspect import signature
from keyword import iskeyword
from pathlib import Path
from typing import Any

from edgekit.converters import files
from edgekit.converters.blame import blame
from edgekit.converters.frontend import Handler, call, check_supported, handlers, reading
from edgekit.converters.inputs import Bindings
from edgekit.converters.naming import named_graph
from edgekit.converters.paddle import FORMAT as FORMAT
from edgekit.converters.paddle import SUFFIXES as SUFFIXES
from edgekit.converters.paddle import ops, params, pir, program_desc
from edgekit.converters.paddle.program import Names, Operator, PaddleProgram, flat
from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Source
from edgekit.core.types import Array, DType

_PARAMETERS = ".pdiparams"
_PROGRAMS = (".json", ".pdmodel")
_HINT = "docs/frontends.md says what is read; save the network without it, or the model as ONNX"
# With what an operator is computed, or how it was made: a graph says nothing of it.
_IGNORED = {
    *("op_callstack", "op_device", "op_namescope", "op_role", "op_role_var", "with_quant_attr"),
    *("use_cudnn", "use_mkldnn", "use_quantizer", "mkldnn_data_type", "use_bfloat16", "force_fp32_output"),
    *("x_data_format", "y_data_format", "epmap", "height_sections", "table_names", "trainer_id"),
    *("remote_prefetch", "is_distributed", "entry", "entry_config", "slot", "is_sparse", "grad_inplace"),
    *("moving_rate", "workspace_size_mb", "exhaustive_search", "use_addto", "force_cpu", "place_type"),
    *("scale_in", "scale_out", "scale_x", "scale_y", "scale_weights", "scale_in_eltwise"),
}
# Passes leave what belongs to a fused activation where none is fused: numbers, and what says that they count.
_SWITCHES = {"fuse_brelu_threshold": "fuse_brelu"} | dict.fromkeys(
    ("fuse_alpha", "fuse_beta"), "fuse_activation"
)


def sniff(path: Path, head: bytes) -> bool:
    """A program of either form; parameters alone are known by their suffix."""
    return pir.is_program(head) or program_desc.is_program(head)


def convert(
    model: Path,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    name: str = "",
) -> Graph:
    """Convert a pair of files, given as either; `shapes` binds sizes that the export left open."""
    with reading(model.name):
        path = _program_beside(model) if model.suffix.lower() == _PARAMETERS else model
        raw = files.read(path)
        parse = program_desc.parse if program_desc.is_program(raw[:64]) else None
        if parse is None and (pir.is_program(raw[:4096]) or path.suffix.lower() == ".json"):
            parse = pir.parse
        program = (parse or program_desc.parse)(raw, path.name)
        stored = _stored(path) if program.parameters else b""
        names = [key for key, _ in program.parameters]
        weights = params.read(stored, names, path.stem + _PARAMETERS)
        source = files.source(path, "paddle", raw, stored, producer=program.producer)
        return PaddleImporter(program, weights, Bindings(shapes or {}, dims or {})).run(
            name or path.stem, source
        )


def _stored(program: Path) -> bytes:
    """The parameters; Paddle 1 had fixed names for both files."""
    if program.name == "__model__":
        return files.read_beside(program, "__params__", "parameters")
    return files.read_companion(program, _PARAMETERS, "parameters")


def _program_beside(parameters: Path) -> Path:
    for suffix in _PROGRAMS:
        if parameters.with_suffix(suffix).is_file():
            return parameters.with_suffix(suffix)
    hint = f"{parameters.stem}.json or {parameters.stem}.pdmodel belongs beside it"
    raise EdgeKitError("E0104", "parameters alone are no model", parameters.name, hint)


class PaddleImporter:
    """One conversion: the graph so far, and what each value of the program stands for."""

    def __init__(self, program: PaddleProgram, weights: Mapping[str, Array], bindings: Bindings) -> None:
        self.program = program
        self.weights = weights
        self.bindings = bindings
        self.builder = Builder(given=sum(array.nbytes for array in weights.values()))
        self.scope: dict[str, Tensor] = {}
        self.names: dict[str, Tensor] = {}  # what edges are called
        self.unmade: dict[str, str] = {}  # results that handlers leave out, and of which operator

    def run(self, name: str, source: Source) -> Graph:
        known = handlers(ops)
        check_supported([(op.kind, op.name) for op in self.program.operators], known, _HINT)
        inputs = self._bind_inputs()
        for key, value in self.program.parameters:
            self.scope[value] = Tensor(self.builder, self.builder.const(self.weights[key], hint=key))
            self._check(value)
        for op in self.program.operators:
            self.builder.origin = op.name
            with blame(f"node {op.name}"):
                self._place(op, self._made(op))
        outputs = [(public, self._value(value)) for public, value in self.program.outputs]
        if not outputs:
            raise EdgeKitError("E0401", "the program has no output")
        return named_graph(self.builder, name, inputs, outputs, self.names, self.bindings.noted(source))

    def _bind_inputs(self) -> list[str]:
        found: list[str] = []
        for public, value in self.program.inputs:
            if value not in self.program.declared or not public or public in found:
                raise EdgeKitError("E0401", f"input {public} has no type, no name, or is there twice")
            given = self.program.declared[value]
            type = self.bindings.type(public, given.dtype, given.dims)
            self.scope[value] = Tensor(self.builder, self.builder.input(public, type))
            found.append(public)
        self.bindings.check(found)
        return found

    def _made(self, op: Operator) -> Sequence[Any]:
        handler = handlers(ops)[op.kind]
        settings = dict(_settings(op, handler))
        settings |= {key: self._operand(names) for key, names in op.named.items()}
        made = call(handler, op.kind, op.name, [self._operand(names) for names in op.operands], settings)
        return made if isinstance(made, tuple) else (made,)

    def _place(self, op: Operator, made: Sequence[Any]) -> None:
        """Bind results to their names: a list is a result of several values, None is left out."""
        for i, names in enumerate(op.results):
            result = made[i] if i < len(made) else None
            if result is None:
                self.unmade |= dict.fromkeys(flat(names), op.kind)
                continue
            values = list(result) if isinstance(result, tuple | list) else [result]
            values = [self._tensor(value) for value in values]
            if len(values) != len(flat(names)):
                message = f"{op.kind} has {len(flat(names))} results, {len(values)} are made"
                raise EdgeKitError("E0401", message)
            for j, (name, tensor) in enumerate(zip(flat(names), values, strict=True)):
                self.scope[name] = tensor
                self._check(name)
                public = op.name if name.startswith("%") else name
                self.names.setdefault(f"{public}.{j}" if j and public != name else public, self.scope[name])

    def _tensor(self, value: Tensor | Array) -> Tensor:
        """What a handler made, also where it needs no operand."""
        return value if isinstance(value, Tensor) else Tensor(self.builder, self.builder.const(value))

    def _operand(self, names: Names) -> Any:
        if names is None or isinstance(names, str):
            return None if names is None else self._value(names)
        return [self._value(name) for name in names]

    def _value(self, name: str) -> Tensor:
        if name in self.scope:
            return self.scope[name]
        if name in self.unmade:
            raise EdgeKitError("E0205", f"result {name} of {self.unmade[name]} is not supported")
        raise EdgeKitError("E0401", f"{name} is computed later or never", hint="is the program complete?")

    def _check(self, name: str) -> None:
        """Compare a value with what the file says of it. Up to Paddle 2.4 numbers had one dimension."""
        if name not in self.program.declared:
            return
        given, found = self.program.declared[name], self.scope[name].type
        dims = tuple(given.dims or ())
        if found.size == 1 and {len(dims), found.rank} == {0, 1}:
            self.scope[name] = self.scope[name].reshape(*(1,) * len(dims))
            found = self.scope[name].type
        fits = len(dims) == found.rank and all(d in (None, n) for d, n in zip(dims, found.shape, strict=True))
        bytes_as_floats = found.dtype is DType.S8 and given.dtype is DType.F32  # of quantized models
        if not fits or not (found.dtype is given.dtype or bytes_as_floats):
            text = f"{given.dtype.value}[{','.join('?' if d is None else str(d) for d in dims)}]"
            raise EdgeKitError("E0401", f"{name} is {found}, the file says {text}")


def _settings(op: Operator, handler: Handler) -> Iterator[tuple[str, Any]]:
    """The attributes that matter. Operators that older Paddle could fuse say that nothing is, and most say
    whether they train, whether or not it makes a difference."""
    for key, value in op.attributes.items():
        switch = _SWITCHES.get(key)
        idle = key.startswith("fuse_") and not (op.attributes.get(switch) if switch else value)
        idle = idle or value == "AnyLayout"
        idle = idle or (key == "is_test" and key not in signature(handler).parameters)
        if key not in _IGNORED and not idle:
            yield key + "_" * iskeyword(key), value
