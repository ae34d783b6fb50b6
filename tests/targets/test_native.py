"""`native` is the best target for the processor of this machine, and written with its own name."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from support.command_line import DIGITS, CommandLine
from support.tools import require, require_module

import edgekit
from edgekit import EdgeKitError
from edgekit.api.models import target_of
from edgekit.codegen.execution import processor, runner
from edgekit.core import target as targets

MODEL = str(DIGITS / "digits.onnx")
# What machines say of their processors; ARM's as QEMU 10 says it of these cores.
_A53 = "Features\t: fp asimd aes pmull sha1 sha2 crc32 cpuid\n"
_A76 = _A53.replace("cpuid", "atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp")
_V1 = _A76.replace("asimddp", "sha3 asimddp sha512 sve asimdfhm svei8mm svebf16 i8mm bf16 rng")
_SME = _V1.replace("rng", "rng sme smei8i32 smef32f32")
_A7 = "Features\t: half thumb fastmult vfp edsp neon vfpv3 tls vfpv4 idiva idivt vfpd32 lpae\n"
_ARM11 = "Features\t: half thumb fastmult vfp edsp java tls\n"
_SSE = "flags\t\t: fpu sse sse2\n"
_AVX2 = _SSE.replace("sse2", "sse2 avx f16c fma avx2 bmi2")
CPUINFO = [
    ("", "host"),
    ("processor : 0\nmodel name : something else\n", "host"),
    (_SSE, "x86-64"),
    (_AVX2 + "vmx flags\t: vnmi\n", "x86-64-avx2"),
    (_AVX2 + _SSE, "x86-64"),
    (_A53, "aarch64"),
    (_A76, "aarch64-dotprod"),
    (_A76 + _A53, "aarch64"),  # what all cores have
    (_V1, "aarch64-i8mm"),
    (_SME, "aarch64-sme"),
    (_A7, "armv7-neon"),
    (_ARM11, "host"),
    ("isa\t\t: rv64imafdc\nmmu\t\t: sv39\n", "riscv64"),
    ("isa\t\t: rv64imafdcv_zicbom_zicboz_zihintpause\n", "riscv64-rvv"),
    ("isa\t\t: rv64imafdcvsu\n", "riscv64"),  # vectors 0.7.1
    ("isa\t\t: rv32imafdc\n", "host"),
]
_FLAGS = "machdep.cpu.features: FPU SSE SSE2 FMA F16C\nmachdep.cpu.leaf7_features: "
SYSCTL = [
    ("hw.optional.arm.FEAT_DotProd: 1\nhw.optional.neon: 1\n", "macos-aarch64"),
    (_FLAGS + "BMI2 AVX2\n", "x86-64-avx2"),
    (_FLAGS + "BMI2\n", "macos-x86-64"),
    ("hw.optional.arm.FEAT_DotProd: 1\nhw.optional.arm.FEAT_I8MM: 1\n", "macos-aarch64"),
    ("".join(f"hw.optional.arm.FEAT_{x}: 1\n" for x in ("BF16", "DotProd", "I8MM")), "macos-aarch64-i8mm"),
    ("hw.optional.arm.FEAT_DotProd: 0\n", "host"),
    ("", "host"),
]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    return CommandLine(capsys)


def of(monkeypatch: pytest.MonkeyPatch, system: str, flags: frozenset[str]) -> None:
    """Another machine."""
    monkeypatch.setattr(processor, "system", lambda: system)
    monkeypatch.setattr(processor, "flags", lambda: flags)


def is_for_a_kind_of_processor(name: str) -> bool:
    return bool(targets.load(name).cpu_flags) and targets.load(name).core == name


def features(*names: str) -> frozenset[str]:
    return frozenset(flag for name in names for flag in targets.load(name).cpu_flags)


@pytest.mark.parametrize(
    ("has", "best"),
    [
        ((), "host"),
        (("x86-64",), "x86-64"),
        (("x86-64", "x86-64-avx2"), "x86-64-avx2"),
        (("x86-64", "x86-64-avx2", "x86-64-avxvnni"), "x86-64-avxvnni"),
        (("x86-64", "x86-64-avx2", "x86-64-avx512", "x86-64-avxvnni"), "x86-64-avx512"),
    ],
)
def test_it_has_most_of_the_features(
    monkeypatch: pytest.MonkeyPatch, has: tuple[str, ...], best: str
) -> None:
    monkeypatch.setattr(processor, "flags", lambda: features(*has))
    assert processor.native().name == best
    assert target_of("native") == targets.load(best)


@pytest.mark.parametrize(("text", "best"), CPUINFO)
def test_linux_says_what_its_processors_have(text: str, best: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of(monkeypatch, "linux", processor.features(text))
    assert processor.native().name == best
    assert runner.is_native(processor.native())


@pytest.mark.parametrize(("text", "best"), SYSCTL)
def test_macos_says_what_its_processor_has(text: str, best: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of(monkeypatch, "macos", processor.settings_of_macos(text))
    assert processor.native().name == best
    assert runner.is_native(processor.native())


@pytest.mark.parametrize(
    ("machine", "avx2", "best"),
    [
        ("AMD64", True, "windows-x86-64-avx2"),
        ("AMD64", False, "windows-x86-64"),
        ("ARM64", False, "windows-aarch64"),
        ("x86", False, "host"),
    ],
)
def test_windows_is_asked_for_avx2(
    machine: str, avx2: bool, best: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = SimpleNamespace(IsProcessorFeaturePresent=lambda feature: feature == 40 and avx2)
    monkeypatch.setattr("ctypes.windll", SimpleNamespace(kernel32=kernel), raising=False)
    of(monkeypatch, "windows", processor.of_windows(machine))
    assert processor.native().name == best
    assert runner.is_native(processor.native())


@pytest.mark.parametrize("name", [name for name in targets.names() if is_for_a_kind_of_processor(name)])
def test_a_target_that_its_machine_runs_is_best_for_some_machine(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the targets that say what they need, none is behind another one that needs the same."""
    target = targets.load(name)
    of(monkeypatch, target.system or "linux", frozenset(target.cpu_flags))
    assert processor.native() == target


@pytest.mark.parametrize(
    ("name", "emulator"),
    [("aarch64-i8mm", "qemu-aarch64 -cpu max"), ("armv7-neon", "qemu-arm"), ("riscv64", "qemu-riscv64")],
)
def test_programs_on_a_machine_of_another_kind_are_timed(
    name: str, emulator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On such a machine programs run themselves, as its processor does here by an emulator."""
    require(emulator.split()[0])
    require_module("ziglang")
    target = targets.load(name)
    assert not runner.is_native(target)
    of(monkeypatch, "linux", frozenset(target.cpu_flags))
    before = runner._before
    monkeypatch.setattr(
        runner, "_before", lambda words: before(emulator.split() if words == ["native"] else words)
    )
    report = edgekit.build(MODEL, tmp_path / "out", target="native")
    assert report.target == name
    assert report.verification is not None
    found = edgekit.bench(MODEL, layers=True)
    assert found.target == name
    assert found.instructions is None
    assert found.microseconds is not None
    assert all(layer.microseconds is not None for layer in found.layers)
    parts = sum(layer.microseconds or 0.0 for layer in found.layers)
    assert 0 < parts < 10 * found.microseconds


def test_a_runner_that_is_given_runs_programs_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    target = targets.load("aarch64")
    of(monkeypatch, "linux", frozenset(target.cpu_flags))
    assert runner.here(target).runner == "native"
    given = targets.with_runner(target, "qemu-aarch64 -cpu cortex-a53")
    assert runner.here(given) == given
    of(monkeypatch, "windows", frozenset(target.cpu_flags))
    assert runner.here(target) == target


def test_programs_for_it_run_here() -> None:
    assert runner.is_native(processor.native())


def test_what_is_written_has_its_own_name(cli: CommandLine) -> None:
    require("gcc")
    best = processor.native().name
    found = cli.ok("build", MODEL, "--target", "native", "-o", "out", "--json").json
    assert found["target"] == best
    assert "target native" not in Path("out/digits.h").read_text()
    assert cli.ok("bench", MODEL, "--json").json["target"] == best
    assert cli.ok("estimate", MODEL, "-t", "native", "--json").json["target"] == best
    assert cli.ok("targets", "--json").json["native"] == best
    assert cli.ok("targets").out.endswith(f"native is {best} on this machine\n")


def test_build_says_once_that_there_are_faster_kernels(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("gcc")
    words = ("build", MODEL, "--no-verify", "-o", "out")
    monkeypatch.setattr(processor, "flags", lambda: features("x86-64", "x86-64-avx2"))
    answer = cli.ok(*words)
    assert "target host" in answer.out
    assert answer.err.count("--target native, x86-64-avx2 here,") == 1
    assert "native" not in cli.ok(*words, "--target", "host").err
    monkeypatch.setattr(processor, "flags", lambda: frozenset())
    assert "native" not in cli.ok(*words).err


def test_it_is_no_name_for_a_base_and_close_to_mistakes() -> None:
    with pytest.raises(EdgeKitError, match="no base native"):
        targets.parse("board", 'base = "native"')
    with pytest.raises(EdgeKitError) as error:
        targets.load("natve")
    assert "did you mean native?" in error.value.hint
