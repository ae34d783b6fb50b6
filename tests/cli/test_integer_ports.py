"""Inputs and outputs of quantized models become integers, and a note says what floats there cost."""

import shlex
from pathlib import Path

import numpy as np
import pytest
from support.command_line import CommandLine
from support.nets import Net

import edgekit
from edgekit.core.errors import Exit
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.pool2d import Pool2d

SIZE = 24


@pytest.fixture
def quantized(cli: CommandLine, folder: Path) -> str:
    """A network whose input is most of its memory, in int8 between floats."""
    net = Net()
    x = net(Conv2d(strides=(4, 4)), net.x(1, SIZE, SIZE, 3), net.random(2, 4, 4, 3), net.random(2))
    edgekit.save(net.done(net(Pool2d("max", (6, 6)), x, name="y")), "net.ek")
    np.save("data.npy", np.random.default_rng(0).random((16, 1, SIZE, SIZE, 3), np.float32))
    cli.ok("quantize", "net.ek", "--data", "data.npy", "--calibrate", "minmax", "-o", "my net.ek")
    return "my net.ek"


@pytest.mark.parametrize("io", ["int8", "uint8"])
def test_ports_become_integers_after_quantizing(
    io: str, quantized: str, cli: CommandLine, folder: Path
) -> None:
    """As if quantize had made them so."""
    cli.ok("convert", quantized, "--io", io, "-o", "after.ek", "--name", "net")
    words = ("--data", "data.npy", "--calibrate", "minmax", "--io", io)
    cli.ok("quantize", "net.ek", *words, "-o", "before.ek")
    after, before = edgekit.load("after.ek"), edgekit.load("before.ek")
    assert [str(after.type(name)) for name in (*after.inputs, *after.outputs)] == [
        str(before.type(name)) for name in (*before.inputs, *before.outputs)
    ]
    x = np.random.default_rng(1).integers(0, 100, (4, *after.type("x").shape)).astype(io)
    assert np.array_equal(edgekit.run(after, x)["y"], edgekit.run(before, x)["y"])


def test_build_and_estimate_say_what_floats_cost(quantized: str, cli: CommandLine, folder: Path) -> None:
    answer = cli.ok("estimate", quantized)
    assert f"inputs and outputs take {4 * SIZE * SIZE * 3 + 8:,} B of RAM, and as int8 " in answer.err
    command = answer.err.partition(" B: ")[2].strip()
    cli.ok(*shlex.split(command)[1:])
    small = edgekit.load("my net_io.ek")
    assert small.type("x").bytes == SIZE * SIZE * 3
    again = cli.ok("estimate", "my net_io.ek")
    assert "of RAM" not in again.err
    assert command in cli.ok("build", quantized, "--no-verify").err


def test_floats_are_not_worth_a_note_where_they_are_few(cli: CommandLine, folder: Path) -> None:
    assert "of RAM" not in cli.ok("estimate", "digits.ek").err


def test_a_float_model_has_no_such_ports(quantized: str, cli: CommandLine, folder: Path) -> None:
    answer = cli("convert", "net.ek", "--io", "int8", "-o", "other.ek")
    assert answer.code == Exit.USAGE
    assert "no input or output of" in answer.err
    assert not Path("other.ek").exists()
