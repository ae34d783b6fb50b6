"""In place of the compiled part of the onnx package: the specification of its operators.

It comes from the file that assembly.py makes of it where the package is whole."""

import base64
import json
import sys
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

ONNX_ML = True


class SchemaError(Exception):
    """The specification knows no such operator."""


class OpSchema(SimpleNamespace):
    """What the specification says of an operator."""

    FormalParameterOption = SimpleNamespace(Single=0, Optional=1, Variadic=2)

    class Attribute(SimpleNamespace):
        """Of an operator. onnx.defs adds `default_value`, as it adds `function_body` to the schema."""

    class FormalParameter(SimpleNamespace):
        """An input of an operator."""

    class TypeConstraintParam(SimpleNamespace):
        """Named by onnx.defs."""

    def get_context_dependent_function(self, node: bytes, types: list[bytes]) -> bytes:
        from edgekit.core.errors import EdgeKitError

        hint = "edgekit build takes it on your machine"
        raise EdgeKitError("E0201", f"this page cannot expand the function {self.name}", hint=hint)


@cache
def _known() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(__file__).parent / "schemas.json").read_text("utf-8"))
    return found


@cache
def get_schema(name: str, version: int = 1 << 30, domain: str = "") -> OpSchema:
    """The schema of the newest version that is not newer."""
    found = [s for s in _known()["schemas"].get(f"{domain}:{name}", []) if s["since_version"] <= version]
    if not found:
        raise SchemaError(name)
    return _schema(max(found, key=lambda s: s["since_version"]))


def _schema(fields: dict[str, Any]) -> OpSchema:
    attributes = {}
    for name, (type, required, default) in fields["attributes"].items():
        attributes[name] = OpSchema.Attribute(
            name=name,
            type=SimpleNamespace(name=type),
            required=required,
            _default_value=base64.b64decode(default),
        )
    body = base64.b64decode(fields["function"])
    return OpSchema(
        **{k: fields[k] for k in ("name", "since_version", "max_input", "max_output")},
        inputs=[OpSchema.FormalParameter(**parameter) for parameter in fields["inputs"]],
        attributes=attributes,
        has_function=bool(body),
        has_context_dependent_function=fields["needs_context"],
        _function_body=body,
    )


class AbsentError(Exception):
    """What other parts of the onnx package import, and EdgeKit never calls."""


def _module(name: str, **contents: Any) -> None:
    module = ModuleType(f"{__name__}.{name}")
    module.__dict__.update(contents, __getattr__=lambda wanted: AbsentError)
    sys.modules[module.__name__] = module
    globals()[name] = module


_module(
    "defs",
    SchemaError=SchemaError,
    OpSchema=OpSchema,
    get_schema=get_schema,
    schema_version_map=lambda: {k: tuple(v) for k, v in _known()["versions"].items()},
)
for _name in ("checker", "shape_inference", "inliner", "parser", "printer", "version_converter"):
    _module(_name)
