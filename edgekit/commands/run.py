"""`edgekit run` runs a model on inputs from a file, or a language model on text."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Annotated

from edgekit import console, settings
from edgekit.command_help import TEXT, Panel, option
from edgekit.commands._shared import (
    Consts,
    Dims,
    Entries,
    Json,
    MaxIterations,
    Model,
    Optimize,
    OptimizeOption,
    Ports,
    PortsOption,
    RunnerOption,
    Shapes,
    Signature,
    SignatureOption,
    States,
    bound_inputs,
    data,
    emit,
    entry_graphs,
    iterations,
    run_by,
    target_option,
    written,
)
from edgekit.core.errors import EdgeKitError

PANEL = Panel.CHECKS

Text = Annotated[str, option("--text", group=TEXT, help="Let a language model go on with this text.")]
Tokens = Annotated[int, option("--tokens", group=TEXT, metavar="N", help="Write so many tokens at most.")]
Temperature = Annotated[
    float, option("--temperature", group=TEXT, metavar="T", help="Draw tokens; 0 takes the best each time.")
]
TopK = Annotated[int, option("--top-k", group=TEXT, metavar="K", help="Draw among the K best; 0: among all.")]
TopP = Annotated[
    float,
    option("--top-p", group=TEXT, metavar="P", help="Draw among the best with this share of probability."),
]
Seed = Annotated[int, option("--seed", group=TEXT, metavar="N", help="Draw other tokens.")]
RepetitionPenalty = Annotated[
    float,
    option("--repetition-penalty", group=TEXT, metavar="R", help="Divide logits of tokens in the text."),
]


def run(
    model: Model,
    data: Annotated[str, data("Arrays by input name (.npz), or one (.npy).", "--input", "-i")] = "",
    text: Text = "",
    tokens: Tokens = 128,
    temperature: Temperature = 0.0,
    top_k: TopK = 0,
    top_p: TopP = 1.0,
    seed: Seed = 0,
    repetition_penalty: RepetitionPenalty = 1.0,
    output: Annotated[
        str, written("Y.NPZ", "Write the outputs instead of printing them."), settings.WRITES
    ] = "",
    target: Annotated[str, target_option("Run the compiled code; default: the simulator.")] = "",
    runner: RunnerOption = "",
    optimize: OptimizeOption = Optimize.SPEED,
    ports: PortsOption = Ports.CALLER,
    entry: Entries = None,
    shape: Shapes = None,
    dim: Dims = None,
    const: Consts = None,
    state: States = None,
    profile: SignatureOption = None,
    signature: Signature = "",
    max_iterations: MaxIterations = "",
    json: Json = False,
) -> None:
    """Run a model on inputs from a file, or a language model on text.

    edgekit run digits.onnx -d x.npz                        # in the simulator, printed
    edgekit run digits.onnx -d x.npz -t cortex-m4 -o y.npz  # compiled, into a file
    edgekit run tiny-llama --text "once upon" --top-p 0.9 --temperature 0.8
    """
    from edgekit import api
    from edgekit.api.text import left_out_tokenizer
    from edgekit.reports import results
    from edgekit.samples import arrays

    if bool(data) == bool(text):
        hint = "--data takes arrays, --text what a language model goes on with"
        raise EdgeKitError("E0101" if not text else "E0103", "give either --data or --text", hint=hint)
    if text and (target or runner or output):
        message = "--text is for the simulator, and prints what it writes"
        raise EdgeKitError("E0103", message, hint="leave --target, --runner and --output out")
    if entry and (not text or [*settings.entries(entry)] != ["prefill"]):
        hint = "--entry prefill:tokens=16 reads the prompt of --text"
        raise EdgeKitError("E0103", "run takes one --entry, prefill, with --text", hint=hint)
    if text:
        bound = bound_inputs(shape, dim, const, state, signature)
        graph = api.convert(model, **bound)
        if left_out := left_out_tokenizer(model, graph):
            raise left_out
        pieces = api.generate(
            graph,
            text,
            tokens=tokens,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            seed=seed,
            repetition_penalty=repetition_penalty,
            prefill=entry_graphs(entry, model, bound).get("prefill"),
        )
        if json:
            emit("run", {"text": text, "continuation": "".join(pieces)}, [], json)
            return
        for piece in chain([text], pieces):
            console.out_piece(piece)
        console.out("")
        return
    with console.progress() as progress:
        graph = api.convert(
            model,
            **bound_inputs(shape, dim, const, state, signature),
            profile=profile,
            max_iterations=iterations(max_iterations),
        )
        if output:
            arrays.check_destination(Path(output), len(graph.outputs))
        found = api.run(
            graph,
            data,
            target=run_by(target, runner) or None,
            optimize=optimize.value,
            ports=ports.value,
            progress=progress,
        )
    if output:
        arrays.save(Path(output), found)
        emit("run", {"file": output}, [f"{output}: {', '.join(found)}"], json)
    else:
        emit("run", {"outputs": found}, results.outputs(found), json)
    if nans := results.nans(found):
        console.say(f"warning: {nans}")
