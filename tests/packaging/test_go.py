"""Modules for Go: built, checked and run by the go command, with the simulator's results."""

from pathlib import Path

import pytest
from support import integer_ports
from support.go_command import settings
from support.language_packages import (
    CLASSES,
    Steps,
    check_answer,
    check_ranked,
    documented,
    made,
    ran,
    ranked,
    several,
    small,
    stream,
)
from support.tools import require

from edgekit.codegen.packages._language import Language
from edgekit.codegen.program import Program
from edgekit.codegen.verification.selftest import SelfTest, prepare

RUN = """\
package {module}_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	network "edgekit.local/{module}"
)

func take(rest *[]byte, items any) {{
	size := binary.Size(items)
	if err := binary.Read(bytes.NewReader((*rest)[:size]), binary.LittleEndian, items); err != nil {{
		panic(err)
	}}
	*rest = (*rest)[size:]
}}

func give(to *bytes.Buffer, items any) {{
	if err := binary.Write(to, binary.LittleEndian, items); err != nil {{
		panic(err)
	}}
}}

func TestRuns(t *testing.T) {{
	given, err := os.ReadFile("given")
	if err != nil {{
		t.Fatal(err)
	}}
	var found bytes.Buffer
	model := network.New()
	for round := 0; round < 2; round++ {{
		{reset}
		for rest := given; len(rest) > 0; {{
{steps}
		}}
	}}
	if err := os.WriteFile("found", found.Bytes(), 0o600); err != nil {{
		t.Fatal(err)
	}}
}}
"""
APP = """\
package main

import (
	"fmt"

	"edgekit.local/digits"
)

func main() {
	image := make([]float32, digits.XSize)
	scores := make(chan [digits.YSize]float32)
	for i := 0; i < 4; i++ {
		go func() {
			var made [digits.YSize]float32
			model := digits.New()
			model.Run((*[digits.XSize]float32)(image), &made)
			if !model.SelfTest() {
				panic("wrong")
			}
			scores <- made
		}()
	}
	first := <-scores
	fmt.Println(first == <-scores && first == <-scores && first == <-scores)
	for _, name := range digits.YClasses {
		fmt.Println(name)
	}
}
"""


def runs(program: Program, module: str) -> str:
    """A test in Go that writes what each step gives."""
    types = Language("go").about["types"]
    ports = (*program.inputs, *program.outputs)
    lines = [f"var {port.c}_ [{port.type.size}]{types[port.type.dtype.c]}" for port in ports]
    lines += [f"take(&rest, &{port.c}_)" for port in program.inputs]
    lines += [f"model.Run({', '.join(f'&{port.c}_' for port in ports)})"]
    lines += [f"give(&found, &{port.c}_)" for port in program.outputs]
    reset = "model.Reset()" if program.states else ""
    return RUN.format(module=module, reset=reset, steps="\n".join(lines))


@pytest.fixture(scope="module")
def test() -> SelfTest:
    return prepare(small().graph)


@pytest.fixture(scope="module")
def modules(test: SelfTest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of modules."""
    require("gcc")
    folder = tmp_path_factory.mktemp("go")
    for program in (small(), several("func"), stream(), integer_ports.program()):
        made("go", program, folder, test if program.name == "digits" else None)
    return folder


def go(*words: str, folder: Path, **more: str) -> str:
    return ran(require("go"), *words, folder=folder, **settings(folder), **more)


@pytest.mark.parametrize("program", [small(), several("func"), stream()], ids=lambda program: program.name)
def test_go_gives_the_numbers_of_the_simulator(modules: Path, program: Program) -> None:
    """And passes its self-test."""
    steps, package = Steps(program), modules / "go" / program.name
    (package / "given").write_bytes(steps.given)
    (package / "runs_test.go").write_text(runs(program, {"func": "func_"}.get(program.name, program.name)))
    said = go("test", "-v", "-count=1", ".", folder=package)
    assert said.count("--- PASS") == 2
    steps.check((package / "found").read_bytes())


def test_an_application_follows_the_page(test: SelfTest, tmp_path: Path) -> None:
    """Models of several goroutines, with the module in its folder and vendored."""
    made("go", small(), tmp_path / "app", test, CLASSES)
    (tmp_path / "main.go").write_text(APP)
    go("mod", "init", "app", folder=tmp_path)
    said = ran("bash", "-ec", documented("Go"), folder=tmp_path, **settings(tmp_path))
    check_answer(said, test)
    expected = "".join(f"{line}\n" for line in ("true", *CLASSES))
    assert go("run", ".", folder=tmp_path) == expected
    go("mod", "vendor", folder=tmp_path)
    assert go("run", ".", folder=tmp_path) == expected


def test_the_example_shows_numbers_and_not_bits(tmp_path: Path) -> None:
    program, sample = ranked()
    package = made("go", program, tmp_path, sample=sample)
    check_ranked(go("run", "./classify", folder=package))
    assert ran(require("gofmt"), "-l", ".", folder=package) == ""


def test_options_of_the_processor_are_allowed_by_name(tmp_path: Path) -> None:
    package = made("go", small("x86-64-avx2", "wide"), tmp_path)
    said = go("list", "-f", "{{.CgoCFLAGS}}", ".", folder=package, CGO_CFLAGS_ALLOW="-m.*")
    flags = said.strip("[]\n").split()
    assert "-mavx2" in flags
    assert "CGO_CFLAGS_ALLOW='-m.*'" in (package / "README.md").read_text()
    ran(require("gcc"), *flags, "-fsyntax-only", "model.c", "weights.c", folder=package)


def test_gofmt_has_nothing_to_say(tmp_path: Path) -> None:
    for program in (several("func"), stream(), small()):
        package = made("go", program, tmp_path, classes=CLASSES if program.name == "digits" else ())
        assert ran(require("gofmt"), "-l", ".", folder=package) == ""


QUANTIZE = """\
package integers_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"edgekit.local/integers"
)

func write(name string, items any) {
	var found bytes.Buffer
	if err := binary.Write(&found, binary.LittleEndian, items); err != nil {
		panic(err)
	}
	if err := os.WriteFile(name, found.Bytes(), 0o600); err != nil {
		panic(err)
	}
}

func TestQuantizes(t *testing.T) {
	given, err := os.ReadFile("numbers")
	if err != nil {
		t.Fatal(err)
	}
	numbers := make([]float32, len(given)/4)
	if err := binary.Read(bytes.NewReader(given), binary.LittleEndian, numbers); err != nil {
		t.Fatal(err)
	}
	reals := make([]float32, len(numbers))
CASES
}
"""
QUANTIZE_CASE = """\
	{c}Made := make([]{type}, len(numbers))
	for i, number := range numbers {{
		{c}Made[i] = integers.{pascal}Quantize(number)
		reals[i] = integers.{pascal}Dequantize({c}Made[i])
	}}
	if integers.{pascal}Scale*float32(7-integers.{pascal}Zero) != integers.{pascal}Dequantize(7) {{
		t.Fatal("{c}")
	}}
	write("{c}.integers", {c}Made)
	write("{c}.reals", reals)
"""


def test_integers_of_numbers_are_those_of_the_simulator(modules: Path) -> None:
    package, types = modules / "go/integers", Language("go").about["types"]
    ports = {name: types[integer_ports.PORTS[name].dtype.c] for name in integer_ports.CASES}
    cases = [QUANTIZE_CASE.format(c=name, pascal=name.title(), type=type) for name, type in ports.items()]
    (package / "quantize_test.go").write_text(QUANTIZE.replace("CASES\n", "".join(cases)))
    integer_ports.given(package)
    go("test", "-run", "TestQuantizes", folder=package)
    integer_ports.check(package)


SLICES = """\
package digits_test

import (
	"testing"

	network "edgekit.local/digits"
)

func TestSlices(t *testing.T) {
	model := network.New()
	image, scores := make([]float32, network.XSize), make([]float32, network.YSize)
	image[3] = 1
	var expected [network.YSize]float32
	model.Run((*[network.XSize]float32)(image), &expected)
	if err := model.RunSlices(image, scores); err != nil || *(*[network.YSize]float32)(scores) != expected {
		t.Fatal(err, scores)
	}
	err := model.RunSlices(image, scores[1:])
	if err == nil || err.Error() != "y has 9 elements, the model takes 10" {
		t.Fatal(err)
	}
}
"""


def test_slices_of_another_length_are_an_error(modules: Path) -> None:
    package = modules / "go" / "digits"
    (package / "slices_test.go").write_text(SLICES)
    assert "--- PASS" in go("test", "-v", "-count=1", "-run", "TestSlices", ".", folder=package)
