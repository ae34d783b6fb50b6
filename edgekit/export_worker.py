"""Loads a pickle and exports what it holds: `edgekit export` runs it as a process of the user's Python.

It imports nothing of EdgeKit, which that Python need not have, and keeps to what Python 3.8 knows. Its only
argument is a file with the request in JSON; the answer, `file` or `message` and `hint`, goes into the file
that the request names.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

_SHAPE = re.compile(r"(?:(\w+)=)?(\d+(?:,\d+)*)?(?::(\w+))?")
# What brings each package; all others are part of the network's own code.
_INSTALLED_AS = {
    "joblib": "joblib",
    "onnx": "onnx",
    "onnxscript": "onnxscript",
    "skl2onnx": "skl2onnx",
    "sklearn": "scikit-learn",
    "torch": "torch",
    "ultralytics": "ultralytics",
}
_IN_SCRIPT = "export it at the end of that script, or move them into a module: --pythonpath names its folder"


class RefusalError(Exception):
    """What is wrong, and what to do."""


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.path[:] = [*request["pythonpath"], *(p for p in sys.path if p != request["not_from"])]
    try:
        answer = {"file": _LOADERS[request["loader"]](request)}
    except ModuleNotFoundError as error:
        answer = _missing((error.name or "").partition(".")[0])
    except RefusalError as error:
        answer = {"message": error.args[0], "hint": error.args[1]}
    except AttributeError as error:
        if "__main__" not in str(error):
            raise
        answer = {"message": "its classes were defined in the script that saved it", "hint": _IN_SCRIPT}
    Path(request["answer"]).write_text(json.dumps(answer), encoding="utf-8")


def _missing(package: str) -> dict[str, str]:
    if package in _INSTALLED_AS:
        install = f"{sys.executable} -m pip install {_INSTALLED_AS[package]}"
        hint = f"{install}; or --python names another Python, which has it"
        return {"message": f"{sys.executable} has no package {package}", "hint": hint}
    hint = "--pythonpath names the folder with the code of the network"
    return {"message": f"the file needs the module {package}, which is not installed", "hint": hint}


def _refuse(message: str, hint: str) -> NoReturn:
    raise RefusalError(message, hint)


def _torchscript(request: Any) -> str:
    torch = import_module("torch")
    module = torch.jit.load(request["model"], map_location="cpu").eval()
    names = [argument.name for argument in module.forward.schema.arguments[1:]]
    required = [a.name for a in module.forward.schema.arguments[1:] if not a.has_default_value()]
    positional, _ = _inputs(torch, names, required, request["shapes"])
    if request["suffix"] not in ("", ".onnx"):
        _refuse("torch exports TorchScript to ONNX alone", "-o net.onnx")
    return _to_onnx(torch, module, positional, names, request)


def _module(request: Any) -> str:
    torch = import_module("torch")
    module = _network(torch, torch.load(request["model"], map_location="cpu", weights_only=False))
    module = module.float().eval()
    parameters = list(inspect.signature(module.forward).parameters.values())
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    names, required = [p.name for p in named], [p.name for p in named if p.default is p.empty]
    positional, keywords = _inputs(torch, names, required, request["shapes"])
    if request["suffix"] == ".onnx":
        if keywords:
            _refuse(f"forward takes {', '.join(keywords)} after others that are not given", "-o net.pt2")
        return _to_onnx(torch, module, positional, names, request)
    made = Path(request["folder"]) / "net.pt2"
    torch.export.save(torch.export.export(module, positional, keywords), str(made))
    return str(made)


def _network(torch: Any, found: Any) -> Any:
    """The network in a checkpoint, the averaged one where there are two."""
    kept = [found.get(key) for key in ("ema", "model", "net", "network")] if isinstance(found, dict) else []
    network = next((n for n in [found, *kept] if isinstance(n, torch.nn.Module)), None)
    if network is None:
        export = "torch.export.save(torch.export.export(net.eval(), (x,)), 'net.pt2')"
        _refuse(
            f"the file holds a {type(found).__name__}, and no network in it",
            f"load it in the code of the network: {export}",
        )
    return network


def _inputs(torch: Any, names: Any, required: Any, shapes: Any) -> Any:
    """Values of the shapes that are given, by place as far as they go, and by name after a gap."""
    wanted: dict[str, Any] = {}
    for text in shapes:
        match = _SHAPE.fullmatch(text)
        name = match[1] if match and match[1] else next((n for n in names if n not in wanted), "")
        if not match or name not in names or name in wanted:
            _refuse(f"--shape {text} is for no argument of forward({', '.join(names)})", _example(names))
        wanted[name] = match
    if missing := [name for name in required if name not in wanted]:
        _refuse(f"the shape of {', '.join(missing)} is not known, which forward takes", _example(missing))
    given = {name: _values(torch, match[2] or "", match[3] or "float32") for name, match in wanted.items()}
    first_gap = next((i for i, name in enumerate(names) if name not in given), len(names))
    positional = tuple(given[name] for name in names[:first_gap])
    return positional, {name: given[name] for name in names[first_gap:] if name in given}


def _values(torch: Any, sizes: str, name: str) -> Any:
    kind = getattr(torch, name, None)
    if not isinstance(kind, torch.dtype):
        _refuse(f"{name} is no type of torch", _example(["x"]))
    make = torch.rand if kind.is_floating_point else torch.zeros
    return make([int(size) for size in sizes.split(",") if size]).to(kind)


def _example(names: Any) -> str:
    return f"--shape {next(iter(names), 'x')}=1,3,224,224 for floats, --shape tokens=1,16:int64 for others"


def _to_onnx(torch: Any, module: Any, values: Any, names: Any, request: Any) -> str:
    made = str(Path(request["folder"]) / "net.onnx")
    has_two = "dynamo" in inspect.signature(torch.onnx.export).parameters
    options = {"dynamo": False} if has_two else {}  # the other exporter takes no TorchScript
    torch.onnx.export(module, values, made, input_names=names[: len(values)], **options)
    return made


def _ultralytics(request: Any) -> str:
    shapes = [_SHAPE.fullmatch(text) for text in request["shapes"]]
    if len(shapes) > 1 or not all(m and len((m[2] or "").split(",")) == 4 for m in shapes):
        _refuse("a network of Ultralytics takes one image", "--shape 1,3,640,640")
    size = {"imgsz": [int(n) for m in shapes if m for n in m[2].split(",")[2:]]} if shapes else {}
    network = import_module("ultralytics").YOLO(request["model"])
    return str(network.export(format="onnx", **size))


def _sklearn(request: Any) -> str:
    import_module("sklearn")
    model = import_module("joblib").load(
        request["model"]
    )  # which scikit-learn needs, and reads plain pickles, too
    if not hasattr(model, "predict") or not hasattr(model, "n_features_in_"):
        _refuse(
            f"the file holds a {type(model).__name__}, which is no model that was fitted",
            "save the model, or the pipeline with it",
        )
    skl2onnx = import_module("skl2onnx")
    types = import_module("skl2onnx.common.data_types")
    inputs = [("x", types.FloatTensorType([None, model.n_features_in_]))]
    last = model
    while hasattr(last, "steps"):
        last = last.steps[-1][1]
    options = {"zipmap": False} if hasattr(model, "classes_") else {}  # probabilities as a tensor
    try:
        found = skl2onnx.to_onnx(model, initial_types=inputs, options={id(last): options})
    except NameError:  # a classifier without that option, such as LinearSVC, has no probabilities
        found = skl2onnx.to_onnx(model, initial_types=inputs, options={id(last): {}})
    made = Path(request["folder"]) / "net.onnx"
    made.write_bytes(found.SerializeToString())
    return str(made)


_LOADERS = {
    "torchscript": _torchscript,
    "module": _module,
    "ultralytics": _ultralytics,
    "sklearn": _sklearn,
}

if __name__ == "__main__":
    main()
