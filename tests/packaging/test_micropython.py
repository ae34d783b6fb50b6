"""User C modules for MicroPython, compiled against declarations like its own: the simulator's results."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from support import generated, integer_ports
from support.language_packages import CLASSES, Steps, check_ranked, made, ran, ranked, several, small, stream
from support.tools import ROOT

from edgekit.codegen.packages._language import Language
from edgekit.codegen.program import Program

STANDIN = ROOT / "tests/support/micropython"
# As firmware is compiled.
STRICT = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wdouble-promotion", "-Wfloat-conversion")


def compiled(package: Path) -> Path:
    """A program that runs the module: the sources are those that the .mk file lists."""
    listed = (package / "micropython.mk").read_text()
    sources = [line.strip(" \\") for line in listed.splitlines() if line.endswith(".c \\")]
    flags = [*STRICT, f"-I{STANDIN}", "-Ic", "-o", str(package / "drive")]
    generated.compiled(package, "gcc", *flags, "module.c", *sources, str(STANDIN / "drive.c"))
    return package / "drive"


def words(program: Program) -> list[str]:
    """What the driver has to know of the ports."""
    types = Language("micropython").about["types"]
    ports = [(port.type.dtype, port.type.size) for port in (*program.inputs, *program.outputs)]
    sizes = [f"{types[dtype.c]}:{dtype.numpy.itemsize * size}" for dtype, size in ports]
    return [str(len(program.inputs)), *sizes]


@pytest.mark.parametrize(
    ("program", "module"), [(small(), "digits"), (several("lambda"), "lambda_"), (stream(), "stream")]
)
def test_the_module_gives_the_numbers_of_the_simulator(program: Program, module: str, tmp_path: Path) -> None:
    steps, package = Steps(program), made("micropython", program, tmp_path)
    (package / "given").write_bytes(steps.given)
    said = ran(compiled(package), *words(program), folder=package)
    assert said == f"MP_QSTR_{module} 1\n"
    steps.check((package / "found").read_bytes())


def test_arrays_of_another_size_or_type_are_refused(tmp_path: Path) -> None:
    program = small()
    package = made("micropython", program, tmp_path)
    (package / "given").write_bytes(Steps(program).given)
    drive = compiled(package)
    for port in ("f:252", "d:256", "i:256"):
        done = subprocess.run([drive, "1", port, "f:40"], cwd=package, capture_output=True, text=True)
        assert done.returncode == 4  # ValueError
        assert done.stdout.endswith("the model takes array('f') of 64 elements, or as many bytes, aligned")
    ran(drive, "1", "B:256", "\1:40", folder=package)  # bytes and a bytearray


def test_the_module_has_the_names_of_classes(tmp_path: Path) -> None:
    package = made("micropython", small(), tmp_path, classes=CLASSES)
    said = ran(compiled(package), "MP_QSTR_Y_CLASSES", folder=package)
    assert said == "".join(f"{len(name.encode())} {name}\n" for name in CLASSES)


def test_cmake_and_make_take_the_same_sources_and_options(tmp_path: Path) -> None:
    package = made("micropython", small("cortex-m4"), tmp_path)
    make, cmake = ((package / f"micropython.{end}").read_text() for end in ("mk", "cmake"))
    sources = [line.strip(" \\") for line in make.splitlines() if line.endswith(".c \\")]
    assert [f"${{CMAKE_CURRENT_LIST_DIR}}/{path}" for path in sources] == [
        line.strip() for line in cmake.splitlines() if line.endswith(".c")
    ]
    options = make.split("CFLAGS += ")[1].split()
    assert f'"{";".join(options)}"' in cmake
    assert {"-O3", "-ffp-contract=off"} <= set(options)


STAND_IN = """
{sizes}
class Model:
    def self_test(self):
        return True
    def run(self, *ports):
        for given, taken in zip(ports, ports[len(ports) // 2:]):
            taken[:] = given
"""


def test_the_example_shows_numbers_and_not_bits(tmp_path: Path) -> None:
    """Run by CPython, with a module whose outputs are its inputs, as those of this model are."""
    program, sample = ranked()
    package = made("micropython", program, tmp_path, sample=sample)
    ports = (*program.inputs, *program.outputs)
    sizes = "\n".join(f"{port.c.upper()}_SIZE = {port.type.size}" for port in ports)
    (package / "example/ranked.py").write_text(STAND_IN.format(sizes=sizes))
    for port in program.inputs:
        (package / f"example/{port.c}.bin").write_bytes(sample[port.name].tobytes())
    check_ranked(ran(sys.executable, "classify.py", folder=package / "example"))


def test_the_example_is_python(tmp_path: Path) -> None:
    for program in (several("lambda"), stream(), small()):
        classes = CLASSES if program.name == "digits" else ()
        ast.parse(
            (made("micropython", program, tmp_path, classes=classes) / "example/classify.py").read_text()
        )


def test_integers_of_numbers_are_those_of_the_simulator(tmp_path: Path) -> None:
    package = made("micropython", integer_ports.program(), tmp_path)
    integer_ports.given(package)
    sizes = [(name, str(integer_ports.PORTS[name].dtype.bytes)) for name in integer_ports.CASES]
    ran(compiled(package), "quantize", *(word for pair in sizes for word in pair), folder=package)
    integer_ports.check(package)
