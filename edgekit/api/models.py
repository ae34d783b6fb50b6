"""Models in, graphs out: whatever the other verbs take begins here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path

from edgekit.codegen.execution import processor
from edgekit.converters import normalize, read
from edgekit.converters.normalize import Numbers
from edgekit.core import ek_file
from edgekit.core import target as target_files
from edgekit.core.arguments import checked
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.passes.simplify import simplify
from edgekit.core.passes.static_form import static_form
from edgekit.core.passes.stored_weights import stored_weights, widened_weights
from edgekit.core.target import Target
from edgekit.core.types import Array

Model = Graph | str | PathLike[str]  # a graph, an .ek file, or a model file of any known format


def quiet(step: str) -> None:
    """Progress that is not shown."""


@checked
def convert(
    model: Model,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    constants: Mapping[str, float | Array] | None = None,
    states: Mapping[str, str] | None = None,
    name: str = "",
    profile: str | None = None,
    signature: str = "",
    max_iterations: int | None = None,
    outputs: Sequence[str] = (),
    mean: Mapping[str, Numbers] | Numbers | None = None,
    std: Mapping[str, Numbers] | Numbers | None = None,
    raw: Mapping[str, str] | str | None = None,
    wide_weights: bool = False,
) -> Graph:
    """The simplified graph of a model. `shapes` binds dynamic inputs, `dims` dimensions by the names that the
    file gives them; a batch that is not bound is 1. `constants` fixes inputs to a number or an array.
    `states` names for inputs the outputs that they were in the last run: the library keeps them. `name`
    becomes the prefix of everything in the generated C. `profile` says whose integers a quantized TFLite
    model keeps: those of litert (the default) or of tflm, TFLite Micro; `signature` is one of its entries.
    `max_iterations` bounds the loops of which the file does not say how often they run at most. The network
    ends at `outputs`, tensors by the names of the file, instead of its own.
    With `mean` and `std`, a number or one for each channel, the inputs become raw data, and the graph
    computes (raw - mean) / std itself; `raw` is the type of raw data, uint8 by default. All three are for the
    only input, or by name. Weights that the file stores in fewer bytes than float32 stay so, unless
    `wide_weights`: some kernels are faster then."""
    if name and not (name.isascii() and name.isidentifier()):
        raise EdgeKitError(
            "E0103", f"{name} is not a C identifier", hint="letters, digits and _, no digit first"
        )
    if isinstance(model, Graph):
        graph, is_new = model, False
    else:
        path = Path(model)
        is_new = not ek_file.is_ek(path)
        read_new = partial(
            read.read,
            shapes=shapes,
            dims=dims,
            constants=constants,
            states=states,
            name=name,
            profile=profile,
            signature=signature,
            max_iterations=max_iterations,
            outputs=outputs,
        )
        graph = simplify(read_new(path)) if is_new else ek_file.load(path)
    bound = shapes or dims or constants or states or profile or signature or max_iterations or outputs
    if bound and not is_new:
        fixed: dict[str, object] = {
            "loops are": max_iterations,
            "signature is": signature,
            "profile is": profile,
        }
        fixed["inputs are"] = constants
        fixed["states are"] = states
        fixed["outputs are"] = outputs
        what = next((text for text, given in fixed.items() if given), "shapes are")
        raise EdgeKitError(
            "E0103",
            f"{graph.name} is converted already, its {what} fixed",
            hint="convert the model file again",
        )
    graph = normalize.normalize(graph, normalize.wanted(graph, mean, std, raw))
    graph = stored_weights(graph) if is_new else graph
    graph = widened_weights(graph) if wide_weights else graph
    return graph.with_name(name) if name else graph


def convert_wide(model: Model) -> Graph:
    """The same with weights in float32 and without dynamic quantization, to make other ones of."""
    return static_form(convert(model, wide_weights=True))


def left_over(graph: Graph) -> list[str]:
    """Why the normalization of inputs, or some of it, takes operators of its own, in a sentence each."""
    return [note for name in graph.inputs if (note := normalize.left_over(graph, name))]


@checked
def load(path: str | PathLike[str]) -> Graph:
    """Read an .ek file."""
    return ek_file.load(Path(path))


@checked
def save(graph: Graph, path: str | PathLike[str]) -> None:
    """Write an .ek file, whole or not at all."""
    check_graph_path(path)
    ek_file.save(graph, Path(path))


def check_graph_path(path: str | PathLike[str]) -> None:
    """Refuse a file name that `save` cannot write; asked before the work is done."""
    if Path(path).suffix.lower() != ek_file.SUFFIX:
        raise EdgeKitError("E0105", f"cannot write {path}: graphs go into {ek_file.SUFFIX} files")


def list_targets() -> tuple[Target, ...]:
    """The targets that come with EdgeKit."""
    return tuple(target_files.load(name) for name in target_files.names())


def target_of(target: str | Target) -> Target:
    return target if isinstance(target, Target) else processor.load(target)
