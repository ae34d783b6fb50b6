"""An npm package: WebAssembly, the ES module that loads it, types, a worker, and a page to try it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import edgekit
from edgekit.codegen.compilation import sbom, wasm
from edgekit.codegen.execution import runner
from edgekit.codegen.gpu.web import Web
from edgekit.codegen.gpu.wgsl import DOT4
from edgekit.codegen.packages import Package, PackageRequest
from edgekit.codegen.packages._classes import by_output
from edgekit.codegen.packages._features import Feature, needed
from edgekit.codegen.packages._helpers import HELPER_WORDS, audio, image, likely
from edgekit.codegen.packages._module import Module, link
from edgekit.codegen.packages._node_example import example
from edgekit.codegen.packages._text import text_of
from edgekit.codegen.packages._weights import ID_BYTES, SECTION, WeightsFile, weights_files, with_weights
from edgekit.codegen.packages._words import meaning
from edgekit.codegen.printing.render import environment, model_origin
from edgekit.codegen.program import Port, Program, compile_graph
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.escape import Code
from edgekit.core.target import Target

HELPERS = tuple(HELPER_WORDS)
# The target that means every engine: its package brings these, and the page fetches the first that works.
_FOR_EVERY_ENGINE = ("wasm32-relaxed", "wasm32-simd", "wasm32")
_UNIVERSAL = "wasm32"
_MAX_INLINED = 1 << 20  # bytes of a module that is text, too: base64 is a third larger

# The strictest Content Security Policy under which a package works; docs/browser.md says the same.
POLICY = "script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'"

_ARRAYS = {
    "float": "Float32Array",
    "double": "Float64Array",
    "int8_t": "Int8Array",
    "uint8_t": "Uint8Array",
    "int16_t": "Int16Array",
    "uint16_t": "Uint16Array",
    "int32_t": "Int32Array",
    "uint32_t": "Uint32Array",
    "int64_t": "BigInt64Array",
    "uint64_t": "BigUint64Array",
    "ek_f16": "Uint16Array",
    "ek_bf16": "Uint16Array",
}


def check(target: Target) -> None:
    """EdgeKitError where the target is no WebAssembly."""
    if not runner.is_wasm(target):
        raise EdgeKitError(
            "E0103",
            f"an npm package holds WebAssembly, and target {target.name} is none",
            hint="--target wasm32-simd, or wasm32 for a package that fits every engine",
        )


def make(request: PackageRequest) -> Package:
    """The files of the package."""
    program = request.program
    _check_entries(program)
    web = Web(program.gpu_plans) if program.gpu_plans else None  # refused before anything is built
    cpu = _segments(request)
    stem = program.name
    modules, weights = _with_weights(stem, list(_modules(request)))
    words = modules[-1][2].text
    has_threads = _has_threads(modules)
    inlined = _inlined(stem, modules)
    text = _text(request, modules, web, inlined, weights)
    files = {f"{stem}{suffix}": module.data for suffix, _, module in modules}
    files |= {name: file.data for name, file in weights.values()}
    if has_threads:
        files[f"{stem}.helper.js"] = text("helper.js.j2")
    if inlined:
        files |= {
            f"{stem}.inline.js": text("inline.js.j2", threads=False),
            f"{stem}.inline.d.ts": text("types.d.ts.j2", kind="inline"),
        }
    files |= {
        f"{stem}.js": text("model.js.j2", threads=has_threads),
        f"{stem}.d.ts": text("types.d.ts.j2", kind="model"),
        f"{stem}.worker.js": text("worker.js.j2"),
        f"{stem}.worker.d.ts": text("types.d.ts.j2", kind="worker"),
        f"{stem}.thread.js": text("thread.js.j2", on_gpu=False),
    }
    if web:
        files |= {
            f"{stem}.gpu.js": text("gpu.js.j2", dot4=DOT4, gpu_cpu_bytes=len(cpu), text_bytes=len(words)),
            f"{stem}.gpu.d.ts": text("gpu.d.ts.j2"),
            f"{stem}.gpu.thread.js": text("thread.js.j2", on_gpu=True),
            f"{stem}.gpu.bin": web.weights,
            **({f"{stem}.cpu.wasm": cpu} if cpu else {}),
            **({f"{stem}.text.wasm": words} if words else {}),
        }
    for helper in request.helpers:
        files |= {
            f"{stem}.{helper}.js": text(f"{helper}.js.j2"),
            f"{stem}.{helper}.d.ts": text(f"{helper}.d.ts.j2"),
        }
    parts = (*(["inline"] if inlined else []), "worker", *(["gpu"] if web else []), *request.helpers)
    listed = [*files, *[sbom.file_name(program)] * request.sbom]
    (_, least, _) = modules[-1]
    manifest = _manifest(program, files, listed, parts, least.node)
    files |= {
        "README.md": text("README.md.j2"),
        **_demo(text, program, request.helpers),
        **example(request, text),
        "package.json": (json.dumps(manifest, indent=2) + "\n").encode(),
    }
    if request.sbom:
        files |= sbom.file(program, files, request.optimize, request.compiler, "npm")
    return Package("npm", dict(sorted(files.items())), tuple(_notes(files, stem, modules, weights)))


def _check_entries(program: Program) -> None:
    """Refuse entries whose inputs and outputs would be parts of the arena."""
    if program.entries and program.ports == "arena":
        names = ", ".join(entry.name.removeprefix(f"{program.name}_") for entry in program.entries)
        message = f"an npm package whose inputs and outputs are in the arena cannot have --entry {names}"
        raise EdgeKitError("E0103", message, hint="--ports caller")


Built = tuple[str, Feature, Module]  # the end of the file's name, what it needs, and what is in it


def _modules(request: PackageRequest) -> Iterator[Built]:
    """The modules of the package, the best first. For several cores, those with vectors come with threads
    before they come without, for pages that have no shared memory."""
    program = request.program
    name = program.target.name
    several = name == _UNIVERSAL
    for wanted in _FOR_EVERY_ENGINE if several else (name,):
        same = wanted == name
        target = program.target if same else replace(targets.load(wanted), cores=program.target.cores)
        made = program if same else compile_graph(program.graph, target, program.ports)
        made = made if same else replace(made, entry_graphs=program.entry_graphs)
        feature = needed(made)
        for threads in (True, False) if target.cores > 1 and feature.has_threads else (False,):
            # What build compares with the simulator itself needs no second comparison.
            module = link(
                made,
                request.optimize,
                request.weights,
                check=False if same and not threads else request.check,
                test=request.test,
                threads=threads,
                progress=request.progress,
            )
            yield f"{feature.file if several else ''}{'.threads' if threads else ''}.wasm", feature, module


def _segments(request: PackageRequest) -> bytes:
    """The module of CPU segments; empty where there are none."""
    library = request.program.segment_library
    if library is None:
        return b""
    return link(
        library,
        request.optimize,
        request.weights,
        check=request.check,
        segments=True,
        progress=request.progress,
    ).data


def _has_threads(modules: list[Built]) -> bool:
    return any(module.threads for _, _, module in modules)


def _inlined(stem: str, modules: list[Built]) -> dict[str, str] | None:
    """The module that is in one file with its JavaScript: that with vectors, which engines have had for
    years, but no relaxed ones. None where it is too large to be text as well."""
    alone = [each for each in modules if not each[2].threads]
    suffix, _, module = next((each for each in alone if each[1].isa == "wasm"), alone[0])
    if module.parts or len(module.data) > _MAX_INLINED:
        return None
    content = base64.b64encode(module.data).decode()
    return {"file": f"{stem}{suffix}", "base64": content, "kilobytes": kilobytes(len(content))}


Weights = Mapping[str, tuple[str, WeightsFile]]  # files with their names, by the end of a module's name


def _with_weights(stem: str, modules: list[Built]) -> tuple[list[Built], Weights]:
    """The modules, and the files of the weights that are in none of them."""
    found: list[Built] = []
    names: dict[str, str] = {}  # by the id of a file
    weights: dict[str, tuple[str, WeightsFile]] = {}
    files = weights_files([module.parts for _, _, module in modules])
    for (suffix, feature, module), file in zip(modules, files, strict=True):
        if file:
            name = names.setdefault(file.id, f"{stem}{feature.file if names else ''}.weights.bin")
            weights[suffix] = name, file
            module = replace(module, data=with_weights(module.data, module.parts, module.room, file))
        found.append((suffix, feature, module))
    return found, weights


def _text(
    request: PackageRequest,
    modules: list[Built],
    web: Web | None,
    inlined: Mapping[str, str] | None,
    weights: Weights,
) -> Any:
    """A function that renders a template to bytes."""
    program, helpers = request.program, request.helpers
    inputs, outputs = (list(map(_port, ports)) for ports in (program.inputs, program.outputs))
    classes = by_output(program, request.content.classes)
    for port in (*inputs, *outputs):
        port["classes"] = list(classes.get(port["c"], ()))
    stem = program.name
    builds = [
        {
            "file": f"{stem}{suffix}",
            "needs": Code(json.dumps(list(feature.probe))),
            "words": f"{feature.words} and threads" if module.threads else feature.words,
            "kilobytes": kilobytes(len(module.data)),
            "bytes": len(module.data),
            "pages": module.pages if module.threads else 0,
            "weights": {"file": name, "bytes": len(file.data), "id": file.id} if file else None,
        }
        for suffix, feature, module in modules
        for name, file in [weights.get(suffix, ("", None))]
    ]
    values: dict[str, Any] = {
        "name": stem,
        "stem": stem,
        "package": package_name(program),
        "origin": model_origin(program),
        "version": edgekit.__version__,
        "inputs": inputs,
        "outputs": outputs,
        "has_classes": bool(classes),
        "ranked": next((port["c"] for port in outputs if port["classes"]), outputs[0]["c"]),
        "one_input": len(inputs) == 1,
        "one_output": len(outputs) == 1,
        "has_integers": any(port["functions"] for port in (*inputs, *outputs)),
        "takes_bytes": any(port["array"] == "Uint8Array" for port in inputs),
        "takes": inputs[0]["array"] if len(inputs) == 1 else Code("Partial<Inputs>"),
        "gives": outputs[0]["array"] if len(outputs) == 1 else "Outputs",
        "states": bool(program.states),
        "entries": [_entry(program, entry) for entry in program.entries],
        "text": text_of(program),
        "cores": program.target.cores if _has_threads(modules) else 1,
        "in_arena": program.ports == "arena",
        "builds": builds,
        "lacking": modules[-1][1].words,
        "engines": modules[-1][1].engines,
        "policy": POLICY,
        "inlined": inlined,
        "weights": {
            "id_bytes": ID_BYTES,
            "section": SECTION,
            "files": [(name, kilobytes(len(file.data))) for name, file in dict(weights.values()).items()],
        }
        if weights
        else None,
        "gpu": web,
        "helpers": helpers,
        "helper_words": HELPER_WORDS,
        "pages": _pages(modules),
        "stack": max(module.stack for _, _, module in modules),
    }
    known = {*helpers, *likely(program)}
    if "image" in known:
        values["image"] = image(program, inputs)
    if "audio" in known:
        values["audio"] = audio(program, inputs)

    def render(template: str, **more: object) -> bytes:
        return environment().get_template(f"npm/{template}").render(values | more).encode()

    return render


def _demo(text: Any, program: Program, helpers: Sequence[str]) -> dict[str, bytes]:
    """The page to try the model: it takes what an input of this kind is, whether the package has a helper for
    it or not."""
    own = [helper for helper in likely(program) if helper not in helpers]
    modules = {helper: f"{program.name}.{helper}.js" for helper in helpers}
    modules |= {helper: f"demo.{helper}.js" for helper in own}
    return {
        "demo.html": text("demo.html.j2", modules=modules),
        **{f"demo.{helper}.js": text(f"{helper}.js.j2") for helper in own},
    }


def _entry(program: Program, entry: Program) -> dict[str, Any]:
    """What templates want to know of an entry beside the main one."""
    name = entry.name.removeprefix(f"{program.name}_")
    inputs, outputs = (list(map(_port, ports)) for ports in (entry.inputs, entry.outputs))
    title = "".join(word.title() for word in name.split("_"))  # of types
    one_input, one_output = (ports[0]["array"] if len(ports) == 1 else "" for ports in (inputs, outputs))
    return {
        "name": name,
        "title": title,
        "inputs": inputs,
        "outputs": outputs,
        "takes": one_input or Code(f"Partial<{title}Inputs>"),
        "all": one_input or f"{title}Inputs",
        "gives": one_output or f"{title}Outputs",
    }


def _port(port: Port) -> dict[str, Any]:
    """What templates want to know of an input or output."""
    quant = port.type.quant
    about: dict[str, Any] = {"type": port.type.dtype.numpy.name, "shape": list(port.type.shape)}
    stands_for = meaning(quant)
    if quant:
        scale, zero = list(map(float, quant.scale)), list(map(int, quant.zero))
        one = len(scale) == 1
        about |= {"scale": scale[0] if one else scale, "zero": zero[0] if one else zero}
    words = f"{about['type']} {about['shape']}" + (f": {stands_for}" if stands_for else "")
    return {
        **about,
        "c": port.c,
        "array": _ARRAYS[port.type.dtype.c],
        "size": port.type.size,
        "room": port.type.bytes + -port.type.bytes % 4,  # of whole words
        "meaning": stands_for,
        "words": words,
        "functions": _functions(port),
        "about": Code(", ".join(f"{key}: {json.dumps(value)}" for key, value in about.items())),
    }


def _functions(port: Port) -> Code:
    """Behind what is said of a port: functions between its integers and numbers."""
    if not (own := port.integers):
        return Code("")
    return Code(f", ...integers({own.scale!r}, {own.zero}, {own.low}, {own.high}, {json.dumps(own.away)})")


def package_name(program: Program) -> str:
    """The name in lower case; npm wants a letter or digit in front."""
    return program.name.lower().lstrip("_") or "model"


def _manifest(
    program: Program, files: Mapping[str, bytes], listed: Sequence[str], parts: Sequence[str], node: int
) -> dict[str, Any]:
    """package.json; `listed` is what npm takes along, `parts` are the modules beside the model's;
    `node` is the oldest version of Node."""
    stem = program.name
    exports: dict[str, Any] = {
        ".": {"types": f"./{stem}.d.ts", "default": f"./{stem}.js"},
        **{
            f"./{part}": {"types": f"./{stem}.{part}.d.ts", "default": f"./{stem}.{part}.js"}
            for part in parts
        },
        **{f"./{path}": f"./{path}" for path in sorted(files) if path.endswith((".wasm", ".bin"))},
        "./package.json": "./package.json",
    }
    return {
        "name": package_name(program),
        "version": "1.0.0",
        "description": f"{stem}: a neural network as WebAssembly, without dependencies",
        "license": "UNLICENSED",  # until the owner of the network chooses one
        "type": "module",
        "exports": exports,
        "types": f"./{stem}.d.ts",
        "files": sorted(listed),
        "sideEffects": False,
        "engines": {"node": f">={node}"},
    }


def kilobytes(size: int) -> str:
    return f"{size / 1000:.1f}"


def _pages(modules: list[Built]) -> str:
    pages = max(module.pages for _, _, module in modules)
    return f"{pages * wasm.PAGE // 1024} KiB"


def _notes(
    files: Mapping[str, bytes], stem: str, modules: list[Built], weights: Weights
) -> Iterator[tuple[str, str]]:
    script = len(files[f"{stem}.js"])
    for suffix, _, module in modules:
        name, file = weights.get(suffix, ("", None))
        shipped = kilobytes(script + len(module.data) + (len(file.data) if file else 0))
        parts = f"{stem}.js {script:,} + {stem}{suffix} {len(module.data):,}"
        if file:
            parts += f" + {name} {len(file.data):,}"
        yield "npm", f"{shipped} KB = {parts}; memory {module.pages * wasm.PAGE // 1024} KiB"
    if f"{stem}.gpu.js" in files:
        names = [
            name
            for end in ("gpu.js", "gpu.bin", "cpu.wasm", "text.wasm")
            if (name := f"{stem}.{end}") in files
        ]
        shipped = kilobytes(sum(len(files[name]) for name in names))
        yield "webgpu", f"{shipped} KB = {' + '.join(f'{name} {len(files[name]):,}' for name in names)}"
