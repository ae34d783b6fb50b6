"""Crates for Rust: built, checked and run by Cargo, with the simulator's results."""

import re
import subprocess
from pathlib import Path

import pytest
from support import integer_ports
from support.cargo import configure, settings
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

from edgekit.codegen.program import Program
from edgekit.codegen.verification.selftest import SelfTest, prepare

RUN = """\
use std::mem::{{size_of, size_of_val}};

fn take<T: Copy, const N: usize>(rest: &mut &[u8]) -> [T; N] {{
    let (bytes, others) = rest.split_at(size_of::<[T; N]>());
    *rest = others;
    unsafe {{ bytes.as_ptr().cast::<[T; N]>().read_unaligned() }}
}}

fn give<T, const N: usize>(items: &[T; N], to: &mut Vec<u8>) {{
    let bytes = unsafe {{ std::slice::from_raw_parts(items.as_ptr().cast::<u8>(), size_of_val(items)) }};
    to.extend_from_slice(bytes);
}}

#[test]
fn runs() {{
    let given = std::fs::read("given").unwrap();
    let mut found = Vec::new();
    let mut model = {crate}::Model::new();
    for _ in 0..2 {{
        {reset}
        let mut rest = &given[..];
        while !rest.is_empty() {{
{steps}
        }}
    }}
    std::fs::write("found", found).unwrap();
}}
"""
THREADS = """\
#[test]
fn models_of_several_threads_do_not_meet() {
    let run = || {
        let mut model = digits::Model::boxed();
        let mut scores = [0.0; digits::Model::Y_SIZE];
        model.run(&[0.5; digits::Model::X_SIZE], &mut scores);
        assert!(model.self_test());
        scores
    };
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(run)).collect();
    let scores: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert!(scores.iter().all(|each| *each == scores[0]));
}
"""
APP = """\
use digits::Model;

fn main() {
    let slice = &vec![0.5; 64][..];
    let image: &[f32; Model::X_SIZE] = slice.try_into().unwrap();
    let mut model = Model::new();
    let mut scores = [0.0; Model::Y_SIZE];
    model.run(image, &mut scores);
    println!("{}", (scores.iter().sum::<f32>() - 1.0).abs() < 1e-5);
    for name in Model::Y_CLASSES {
        println!("{name}");
    }
}
"""


def runs(program: Program, crate: str) -> str:
    """A test in Rust that writes what each step gives."""
    inputs, outputs = ([port.c for port in ports] for ports in (program.inputs, program.outputs))
    lines = [f"let {name}_in = take(&mut rest);" for name in inputs]
    lines += [f"let mut {p.c}_out = [Default::default(); {p.type.size}];" for p in program.outputs]
    arguments = [*(f"&{name}_in" for name in inputs), *(f"&mut {name}_out" for name in outputs)]
    lines += [f"model.run({', '.join(arguments)});"]
    lines += [f"give(&{name}_out, &mut found);" for name in outputs]
    steps = "\n".join(f"            {line}" for line in lines)
    return RUN.format(crate=crate, reset="model.reset();" if program.states else "", steps=steps)


@pytest.fixture(scope="module")
def test() -> SelfTest:
    return prepare(small().graph)


@pytest.fixture(scope="module")
def workspace(test: SelfTest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace of three crates, which all take the same crate cc."""
    folder = tmp_path_factory.mktemp("rust")
    configure(folder)
    (folder / "Cargo.toml").write_text('[workspace]\nmembers = ["rust/*"]\n')
    for program in (small(), several("match"), stream(), integer_ports.program()):
        known = (test, CLASSES) if program.name == "digits" else ()
        made("rust", program, folder, *known)
    program, sample = ranked()
    made("rust", program, folder, sample=sample)
    return folder


def cargo(*words: str, folder: Path) -> str:
    return ran(require("cargo"), *words, folder=folder, **settings(folder))


def test_an_application_follows_the_page(workspace: Path, test: SelfTest) -> None:
    app = workspace / "user"
    made("rust", small(), app / "app", test, CLASSES)
    (app / "src").mkdir()
    (app / "src/main.rs").write_text(APP)
    (app / "Cargo.toml").write_text(
        '[package]\nname = "user"\nedition = "2021"\nversion = "1.0.0"\n[workspace]\n'
    )
    more = {**settings(workspace), "CARGO_TARGET_DIR": str(workspace / "target")}
    said = ran("bash", "-ec", documented("Rust"), folder=app, **more)
    check_answer(said, test)
    said = ran(require("cargo"), "run", "-q", folder=app, **more)
    assert said == "".join(f"{line}\n" for line in ("true", *CLASSES))


def test_cargo_test_checks_the_library_and_the_page(workspace: Path) -> None:
    """The self-test, threads with a model each, and the README's example."""
    (workspace / "rust/digits/tests/threads.rs").write_text(THREADS)
    said = cargo("test", "-p", "digits", folder=workspace)
    assert said.count("test result: ok. 1 passed") == 3


@pytest.mark.parametrize("program", [small(), several("match"), stream()], ids=lambda program: program.name)
def test_rust_gives_the_numbers_of_the_simulator(workspace: Path, program: Program) -> None:
    steps, package = Steps(program), workspace / "rust" / program.name
    (package / "given").write_bytes(steps.given)
    (package / "tests/runs.rs").write_text(runs(program, {"match": "match_"}.get(program.name, program.name)))
    cargo("test", "-q", "-p", program.name, "--test", "runs", folder=workspace)
    steps.check((package / "found").read_bytes())


def test_the_example_shows_numbers_and_not_bits(workspace: Path) -> None:
    check_ranked(cargo("run", "-q", "-p", "ranked", "--example", "classify", folder=workspace))


def test_rustfmt_and_clippy_have_nothing_to_say(workspace: Path) -> None:
    require("cargo-clippy")
    rustfmt = require("rustfmt")
    shipped = ("build.rs", "src/lib.rs", "examples/classify.rs", "tests/self_test.rs")
    names = ("digits", "integers", "match", "ranked", "stream")
    files = [f"rust/{name}/{path}" for name in names for path in shipped]
    ran(rustfmt, "--check", "--edition=2021", *files, folder=workspace, **settings(workspace))
    for what in (
        ("-p", "ranked", "--example", "classify"),
        ("-p", "stream", "--no-default-features"),
        ("-p", "integers"),
    ):
        cargo("clippy", *what, "--", "-D", "warnings", folder=workspace)


def test_the_build_script_compiles_for_boards(workspace: Path) -> None:
    """Debian has no Rust library for Cortex-M: without one, Cargo ends behind the script."""
    require("arm-none-eabi-gcc")
    made("rust", small("cortex-m4", "board"), workspace)
    build = [require("cargo"), "build", "-p", "board", "--target", "thumbv7em-none-eabihf"]
    done = subprocess.run(build, cwd=workspace, env=settings(workspace), capture_output=True, text=True)
    assert done.returncode == 0 or "can't find crate for `core`" in done.stderr, done.stderr
    (archive,) = (workspace / "target/thumbv7em-none-eabihf/debug").glob("build/board-*/out/libboard_model.a")
    said = ran("arm-none-eabi-readelf", "-hs", archive, folder=workspace)
    assert re.search(r"Machine: +ARM\b", said)
    assert re.search(r"GLOBAL .* board_run\b", said)


QUANTIZE = """\
#[test]
fn quantizes() {
    let bytes = std::fs::read("numbers").unwrap();
    let numbers: Vec<f32> = bytes.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
CASES
}
"""
QUANTIZE_CASE = """\
    let made: Vec<_> = numbers.iter().map(|number| integers::Model::{c}_quantize(*number)).collect();
    let reals: Vec<_> = made.iter().map(|integer| integers::Model::{c}_dequantize(*integer)).collect();
    let one = integers::Model::{upper}_SCALE * (7 - integers::Model::{upper}_ZERO) as f32;
    assert_eq!(one, integers::Model::{c}_dequantize(7));
    let made: Vec<u8> = made.iter().flat_map(|made| made.to_le_bytes()).collect();
    let reals: Vec<u8> = reals.iter().flat_map(|real| real.to_le_bytes()).collect();
    std::fs::write("{c}.integers", made).unwrap();
    std::fs::write("{c}.reals", reals).unwrap();
"""


def test_integers_of_numbers_are_those_of_the_simulator(workspace: Path) -> None:
    package = workspace / "rust/integers"
    cases = [QUANTIZE_CASE.format(c=name, upper=name.upper()) for name in integer_ports.CASES]
    (package / "tests/quantizes.rs").write_text(QUANTIZE.replace("CASES\n", "".join(cases)))
    integer_ports.given(package)
    cargo("test", "-q", "-p", "integers", "--test", "quantizes", folder=workspace)
    integer_ports.check(package)
