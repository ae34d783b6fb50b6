"""TFLite Micro's audio front end: the numbers of its own kernels, in the simulator and in C."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from support.tflite_writer import Operator, Tensor, constant, model, network
from support.tools import require, require_module
from tflite import signal_cases
from tflite.litert import converted, named
from tflite.micro import micro_says
from tflite.signal_cases import KINDS, operator, packed

from edgekit.codegen.compilation.build import run
from edgekit.codegen.program import compile_graph
from edgekit.converters.file_formats.flexbuffers import options
from edgekit.core import simulate, target
from edgekit.core.errors import EdgeKitError
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.reasons import DamageError
from edgekit.core.types import Array
from edgekit.onnx_backend import compile_programs

RUNS = 7
SEEDS = 20
COMPILED = 3


def made(kind: str, seed: int) -> tuple[Operator, list[list[Array]]]:
    """An operator, and what goes into its successive runs."""
    rng = np.random.default_rng(seed)
    op = KINDS[kind](rng)
    entries = [t for t in op.inputs if t is not None and t.data is None]
    return op, [[signal_cases.any_input(t, rng) for t in entries] for _ in range(RUNS)]


def meaningful(op: Operator, results: Sequence[Array]) -> list[Array]:
    """The results that TFLite Micro writes: others hold what was in its memory before."""
    if op.kind in ("SignalFramer", "SignalStacker"):
        y, is_valid = results
        return [y, is_valid] if is_valid else [is_valid]
    if op.kind == "SignalEnergy":
        found = options(op.custom or b"")
        return [results[0][found["start_index"] : found["end_index"]]]
    return list(results)


def assert_same(op: Operator, found: Mapping[str, Array], right: Sequence[Array], what: str) -> None:
    for a, b in zip(meaningful(op, list(found.values())), meaningful(op, right), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), what
        if a.dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5 * np.abs(b).max(initial=0), err_msg=what)
        else:
            np.testing.assert_array_equal(a, b, what)


@pytest.mark.parametrize("kind", KINDS)
def test_simulator_gives_the_numbers_of_tflite_micro(kind: str, tmp_path: Path) -> None:
    varied = 0
    for seed in range(SEEDS):
        op, runs = made(kind, seed)
        graph = converted(model(op), tmp_path, f"{kind}_{seed}")
        verify(graph)
        expected = micro_says(model(op), runs, len(op.outputs))
        session = simulate.Session(graph)
        for inputs, right in zip(runs, expected, strict=True):
            assert_same(op, session.run(named(graph, inputs)), right, f"{kind}, seed {seed}")
        varied += len({b"".join(y.tobytes() for y in right) for right in expected}) > 2
    assert varied > SEEDS // 2


def test_c_gives_the_numbers_of_tflite_micro(tmp_path: Path) -> None:
    host, cases, programs = target.load("host"), {}, {}
    for kind in KINDS:
        for seed in range(COMPILED):
            op, runs = made(kind, seed)
            graph = simplify(converted(model(op), tmp_path, f"{kind}_{seed}"))
            cases[graph.name] = op, graph, runs
            programs[graph.name] = compile_graph(graph, host)
    driver, errors = compile_programs(list(programs.values()), tmp_path, "speed")
    assert not errors, next(iter(errors.values()))
    for name, (op, graph, runs) in cases.items():
        samples = [named(graph, inputs) for inputs in runs]
        expected = micro_says(model(op), runs, len(op.outputs))
        for found, right in zip(driver.run_each(programs[name], samples), expected, strict=True):
            assert_same(op, found, right, name)


def front_end() -> tuple[bytes, tuple[int, ...]]:
    """From 30 ms of audio to 40 features: a network with all operators of the usual front end."""
    frame, length, channels = 480, 512, 40
    hann = np.rint(4096 * np.hanning(frame + 1)[:-1])
    edges = np.linspace(0, 1127 * np.log1p(8000 / 700), channels + 2)
    mels = 1127 * np.log1p(np.arange(length // 2 + 1) * 16000 / length / 700)
    band = np.searchsorted(edges, mels, "right") - 1
    inside = [np.flatnonzero(band == b) for b in range(channels + 1)]
    falling = np.rint(
        4096 * np.concatenate([(edges[b + 1] - mels[i]) / edges[1] for b, i in enumerate(inside)])
    )
    widths = np.array([len(i) for i in inside])
    starts = np.array([i[0] if len(i) else 0 for i in inside])
    gains = np.linspace(8000, 20, 125).astype(np.int16)

    x, bits = Tensor((frame,), "int16"), Tensor((), "int32")
    windowed, scaled = Tensor((frame,), "int16"), Tensor((frame,), "int16")
    spectrum, energies = Tensor((length + 2,), "int16"), Tensor((length // 2 + 1,), "uint32")
    sums, y = Tensor((channels,), "uint64"), Tensor((channels,), "int16")
    roots, rest, noise, normalized = (Tensor((channels,), "uint32") for _ in range(4))
    weights = [constant(w, "int16") for w in (4096 - falling, falling)]
    bands = [constant(numbers, "int16") for numbers in (starts, np.cumsum(widths) - widths, widths)]
    smoothing = {
        "smoothing": 655,
        "one_minus_smoothing": 15729,
        "alternate_smoothing": 655,
        "alternate_one_minus_smoothing": 15729,
        "smoothing_bits": 10,
        "min_signal_remaining": 819,
        "spectral_subtraction_bits": 14,
        "clamping": False,
        "num_channels": channels,
    }
    ops = [
        operator("SignalWindow", [x, constant(hann, "int16")], [windowed], shift=12),
        operator("SignalFftAutoScale", [windowed], [scaled, bits]),
        operator("SignalRfft", [scaled], [spectrum], T=7, fft_length=length),
        operator("SignalEnergy", [spectrum], [energies], start_index=0, end_index=length // 2 + 1),
        operator("SignalFilterBank", [energies, *weights, *bands], [sums], num_channels=channels),
        operator("SignalFilterBankSquareRoot", [sums, bits], [roots]),
        operator("SignalFilterBankSpectralSubtraction", [roots], [rest, noise], **smoothing),
        operator("SignalPCAN", [rest, noise, constant(gains, "int16")], [normalized], snr_shift=6),
        operator("SignalFilterBankLog", [normalized], [y], output_scale=1600, input_correction_bits=3),
    ]
    return network(ops, [x], [y]), x.shape


def test_front_end_gives_the_features_of_tflite_micro(tmp_path: Path) -> None:
    require("gcc")
    content, shape = front_end()
    graph = converted(content, tmp_path, "front_end")
    rng = np.random.default_rng(9)
    runs = [[signal_cases.audio(rng, shape)] for _ in range(40)]
    expected = [right for (right,) in micro_says(content, runs, 1)]
    samples = [named(graph, inputs) for inputs in runs]
    simulated = [next(iter(found.values())) for found in simulate.run_each(graph, samples)]
    compiled = [next(iter(found.values())) for found in run(simplify(graph), target.load("host"), samples)]
    np.testing.assert_array_equal(np.stack(simulated), np.stack(expected))
    np.testing.assert_array_equal(np.stack(compiled), np.stack(expected))
    assert len(np.unique(expected)) > 200


def test_states_of_operators_are_those_of_the_model(tmp_path: Path) -> None:
    """From a reset on, the stream begins anew."""
    op, runs = made("spectral_subtraction", 3)
    graph = converted(model(op), tmp_path, "net")
    assert [state.input for state in graph.states] == ["noise_estimate"]
    session = simulate.Session(graph)
    first = [list(session.run(named(graph, inputs)).values()) for inputs in runs]
    session.reset()
    again = [list(session.run(named(graph, inputs)).values()) for inputs in runs]
    np.testing.assert_array_equal(first, again)


SAMPLES = Tensor((24,), "int16")
PAIRS = Tensor((26,), "int16")
WORDS = Tensor((4,), "uint32")
BANDS = [constant([1, 2], "int16"), constant([0, 0], "int16"), constant([2, 3], "int16")]
WEIGHTS = [constant([1, 2, 3], "int16")] * 2

REFUSED = {
    "E0401 the option shift is 0.5, not a whole number": operator(
        "SignalWindow", [SAMPLES, SAMPLES], [SAMPLES], shift=0.5
    ),
    "E0401 options": Operator("SignalWindow", [SAMPLES, SAMPLES], [SAMPLES], custom=b"\x01\x02"),
    "E0401 windows of 7 samples": operator(
        "SignalWindow", [SAMPLES, Tensor((7,), "int16")], [SAMPLES], shift=1
    ),
    "E0401 even length, not 25": operator("SignalRfft", [SAMPLES], [PAIRS], T=7, fft_length=25),
    "E0401 7 is no product of 2, 3 and 5": operator(
        "SignalRfft", [Tensor((14,), "int16")], [Tensor((16,), "int16")], T=7, fft_length=14
    ),
    "E0401 more than 10 complex numbers": operator("SignalRfft", [SAMPLES], [PAIRS], T=7, fft_length=20),
    "E0401 13 frequencies": operator("SignalIrfft", [SAMPLES], [SAMPLES], T=7, fft_length=24),
    "E0401 no frequencies 3 to 14": operator(
        "SignalEnergy", [PAIRS], [Tensor((13,), "uint32")], start_index=3, end_index=14
    ),
    "E0401 band 1 is outside": operator(
        "SignalFilterBank", [WORDS, *WEIGHTS, *BANDS], [Tensor((1,), "uint64")], num_channels=1
    ),
    "E0401 2 channels need 3 bands": operator(
        "SignalFilterBank", [WORDS, *WEIGHTS, *BANDS], [Tensor((2,), "uint64")], num_channels=2
    ),
    "E0401 shifts by 64 bits": operator(
        "SignalPCAN", [WORDS, WORDS, constant(np.zeros(125), "int16")], [WORDS], snr_shift=64
    ),
    "E0401 takes 125 gains": operator(
        "SignalPCAN", [WORDS, WORDS, constant(np.zeros(124), "int16")], [WORDS], snr_shift=4
    ),
    "E0401 a delay of -1 samples": operator("SignalDelay", [SAMPLES], [SAMPLES], delay_length=-1),
    "E0401 frames of 4 samples every 5": operator(
        "SignalFramer", [SAMPLES], [SAMPLES, Tensor((), "bool")], frame_size=4, frame_step=5, prefill=True
    ),
    "E0205 2000 frames": operator(
        "SignalFramer",
        [Tensor((2000,), "int16")],
        [Tensor((2000, 4), "int16"), Tensor((), "bool")],
        frame_size=4,
        frame_step=1,
        prefill=True,
    ),
    "E0401 1 + 1 + 1 frames every 4": operator(
        "SignalStacker",
        [SAMPLES],
        [Tensor((72,), "int16"), Tensor((), "bool")],
        num_channels=24,
        stacker_left_context=1,
        stacker_right_context=1,
        stacker_step=4,
    ),
    "E0401 overlapping frames every 25": operator(
        "SignalOverlapAdd", [Tensor((2, 24), "int16")], [SAMPLES], T=7, frame_step=25
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_options_that_make_no_sense_are_refused(message: str, tmp_path: Path) -> None:
    code, words = message.split(" ", 1)
    with pytest.raises(EdgeKitError, match=re.escape(words)) as refused:
        converted(model(REFUSED[message]), tmp_path, "net")
    assert refused.value.code == code


def test_flexbuffers_are_read_as_they_were_written() -> None:
    flexible = require_module("flatbuffers.flexbuffers")
    values = {
        "a": 1,
        "b": -300,
        "c": 70000,
        "d": 2**40,
        "e": True,
        "f": False,
        "g": 0.5,
        "h": 1.0 / 3,
        "z": -(2**63),
    }
    assert options(bytes(flexible.Dumps(values))) == values
    assert options(bytes(flexible.Dumps({"n": 3, "name": "text", "list": [1, 2]}))) == {
        "n": 3,
        "name": "text",
        "list": (1, 2),
    }
    for typed in ([1, 2], [1, 2, 3], [1.5, -2.0, 3.0, 4.0], [300] * 9, [], [True, False]):
        builder = flexible.Builder()
        with builder.Map():
            builder.Key("v")
            builder.TypedVectorFromElements(typed) if typed else builder.VectorFromElements(typed)
        assert options(bytes(builder.Finish())) == {"v": tuple(typed)}
    builder = flexible.Builder()
    with builder.Map():
        builder.Key("v")
        with builder.TypedVector():
            for number in (200, 100, 255, 3, 128):
                builder.UInt(number)
    assert options(bytes(builder.Finish())) == {"v": (200, 100, 255, 3, 128)}
    builder = flexible.Builder()
    with builder.Map():
        for key, add in (
            ("i", builder.IndirectInt),
            ("u", builder.IndirectUInt),
            ("x", builder.IndirectFloat),
        ):
            builder.Key(key)
            add(7)
    assert options(bytes(builder.Finish())) == {"i": 7, "u": 7, "x": 7.0}


def test_damaged_flexbuffers_are_refused_or_read() -> None:
    whole = packed(alpha=1, beta=300, gamma=2.5, delta=True)
    rng = np.random.default_rng(4)
    refused = 0
    for cut in range(len(whole)):
        with pytest.raises(DamageError):
            options(whole[:cut] if cut < 3 else b"\xff" * cut + whole[-2:])
    for _ in range(2000):
        data = bytearray(whole)
        data[rng.integers(len(data))] = rng.integers(256)
        try:
            options(bytes(data))
        except DamageError:
            refused += 1
    assert refused > 100
