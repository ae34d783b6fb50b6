"""Library modules for Android: their JNI and Java compiled and run by a JDK, with the simulator's results."""

import re
from pathlib import Path

import pytest
from support import generated, integer_ports
from support.android_packages import FAST, check_runs, runs
from support.language_packages import (
    CLASSES,
    check_answer,
    check_ranked,
    made,
    ran,
    ranked,
    several,
    small,
    stream,
)
from support.nets import Net
from support.tools import ROOT, require

from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.packages._language import Language
from edgekit.codegen.program import Program
from edgekit.codegen.verification.selftest import prepare
from edgekit.core import target as targets
from edgekit.core.ops.reshape import Reshape

NAMES = """\
final class Names {
    public static void main(String[] arguments) {
        System.out.print(String.join("\\n", edgekit.digits.Model.Y_CLASSES) + "\\n");
    }
}
"""


def kotlin() -> str:
    """The Kotlin of docs/apps.md as a program that prints what it found."""
    page = (ROOT / "docs/apps.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```kotlin\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    imports, _, body = text.partition("\n\n")
    assert body.endswith("}\n")
    shown = "    println(Model.Y_CLASSES[best(scores)])\n"
    return f"""{imports}

fun best(scores: FloatArray): Int = scores.indices.maxBy {{ scores[it] }}!!

fun main(paths: Array<String>) {{
    val bytes = java.nio.ByteBuffer.wrap(java.io.File(paths[0]).readBytes())
    bytes.order(java.nio.ByteOrder.LITTLE_ENDIAN)
    val image = FloatArray(Model.X_SIZE) {{ bytes.getFloat() }}
    {body[:-2]}{shown}}}
}}
"""


def compiled(package: Path, *programs: str, by_cmake: bool = False) -> tuple[str, ...]:
    """The command that runs a program, but for its class. CMake builds the library as Gradle lets it."""
    headers = Path(require("javac")).resolve().parents[1] / "include"
    flags = ["-Wall", "-Wextra", "-Wconversion", "-Werror", f"-I{headers}", f"-I{headers / 'linux'}"]
    (model,) = package.glob("src/main/java/edgekit/*/Model.java")
    strict = ("--release=11", "-Xlint:all", "-Werror")
    generated.compiled(package, "javac", f"-J{FAST}", *strict, "-d", "classes", str(model), *programs)
    if by_cmake:
        given = f"-DCMAKE_C_FLAGS={' '.join(flags)}"
        ran(require("cmake"), "-S", "src/main/cpp", "-B", "build", given, folder=package)
        ran("cmake", "--build", "build", folder=package)
    else:
        (package / "build").mkdir()
        flags += ["-shared", "-fPIC", "-Ic", "-o", f"{package}/build/lib{package.name}_model.so"]
        sources = [f"c/{package.name}{end}.c" for end in ("", "_weights", "_selftest")]
        generated.compiled(package / "src/main/cpp", "gcc", *flags, "jni.c", *sources)
    return (require("java"), FAST, "-Xcheck:jni", "-Djava.library.path=build", "-cp", "classes")


def test_java_classifies_and_gives_the_numbers_of_the_simulator(tmp_path: Path) -> None:
    program = small()
    test = prepare(program.graph)
    package = made("android", program, tmp_path, test, CLASSES)
    (package / "Runs.java").write_text(runs(program, "digits"))
    (package / "Names.java").write_text(NAMES)
    programs = ("Runs.java", "Names.java", "example/Classify.java")
    command = compiled(package, *programs, by_cmake=True)
    check_runs(package, program, command)
    check_answer(ran(*command, "Classify", "example/sample/x.bin", folder=package, LANG="C.UTF-8"), test)
    (package / "Use.kt").write_text(kotlin())
    compiler = (require("kotlinc"), "-cp", "classes", "Use.kt", "-include-runtime", "-d", "use.jar")
    ran(*compiler, folder=package, JAVA_OPTS=FAST)
    *options, classes = command
    said = ran(
        *options, f"{classes}:use.jar", "UseKt", "example/sample/x.bin", folder=package, LANG="C.UTF-8"
    )
    assert said == f"{CLASSES[test.expected[0]['y'].argmax()]}\n"
    said = ran(*command, "Names", folder=package, LANG="C.UTF-8")
    assert said == "".join(f"{name}\n" for name in CLASSES)


@pytest.mark.parametrize(("program", "module"), [(several("package"), "package_"), (stream(), "stream")])
def test_java_takes_unusual_types_names_and_states(program: Program, module: str, tmp_path: Path) -> None:
    package = made("android", program, tmp_path)
    (package / "Runs.java").write_text(runs(program, module))
    check_runs(package, program, compiled(package, "Runs.java"))


def test_the_example_shows_numbers_and_not_bits(tmp_path: Path) -> None:
    """Java has no unsigned numbers either."""
    program, sample = ranked()
    package = made("android", program, tmp_path, sample=sample)
    command = compiled(package, "example/Classify.java")
    given = [f"example/sample/{port.c}.bin" for port in program.inputs]
    check_ranked(ran(*command, "Classify", *given, folder=package))


def test_java_takes_as_many_classes_as_there_are(tmp_path: Path) -> None:
    """More than a method has room for: ImageNet has 21,841."""
    net = Net()
    count = 21_841
    graph = net.done(net(Reshape((1, count)), net.x(count), name="y")).with_name("wide")
    classes = tuple(f"class {i}" for i in range(count))
    package = made("android", fit(graph, targets.load("host")), tmp_path, classes=classes)
    (model,) = package.glob("src/main/java/edgekit/*/Model.java")
    (package / "Last.java").write_text(
        "final class Last { public static void main(String[] a) {\n"
        "java.util.List<String> names = edgekit.wide.Names.CLASSES;\n"
        'System.out.println(names.size() + " " + names.get(names.size() - 1)); } }\n'
    )
    text = model.read_text().replace("Model", "Names").replace("Y_CLASSES", "CLASSES")
    loads = 'System.loadLibrary("wide_model");'
    assert loads in text
    (package / "Names.java").write_text(text.replace(loads, ""))
    ran(require("javac"), f"-J{FAST}", "-d", "classes", "Names.java", "Last.java", folder=package)
    assert (
        ran(require("java"), FAST, "-cp", "classes", "Last", folder=package) == f"{count} class {count - 1}\n"
    )


@pytest.mark.parametrize(
    ("target", "filter"),
    [
        ("host", ""),
        ("x86-64", ""),
        ("aarch64", '"arm64-v8a"'),
        ("aarch64-android", '"arm64-v8a"'),
        ("x86-64-avx2", '"x86_64"'),
    ],
)
def test_portable_c_is_for_every_abi(target: str, filter: str, tmp_path: Path) -> None:
    """What has instructions of a processor is for this one."""
    text = (made("android", small(target), tmp_path) / "build.gradle.kts").read_text()
    assert (f"abiFilters += {filter}" in text) == ("abiFilters" in text) == bool(filter)


def test_unsigned_numbers_are_described(tmp_path: Path) -> None:
    """Java has none."""
    page = (made("android", several(), tmp_path) / "README.md").read_text()
    rows = {
        row.split(" | ")[0]: row.split(" | ")[2] for row in page.splitlines() if row.startswith("| input")
    }
    assert rows["| input `fn`"] == "unsigned |"
    assert rows["| input `type`"] == "the bits of bf16 |"
    assert rows["| input `func`"] == "itself |"


QUANTIZE = """\
import edgekit.integers.Model;
import java.io.*;
import java.nio.*;
import java.nio.file.*;

public class Quantize {
    static void put(ByteBuffer to, byte made) {
        to.put(made);
    }

    static void put(ByteBuffer to, short made) {
        to.putShort(made);
    }

    static void write(String name, ByteBuffer made) throws IOException {
        Files.write(Paths.get(name), java.util.Arrays.copyOf(made.array(), made.position()));
    }

    public static void main(String[] given) throws IOException {
        FloatBuffer numbers = ByteBuffer.wrap(Files.readAllBytes(Paths.get("numbers")))
            .order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer();
        int count = numbers.remaining();
CASES
    }
}
"""
QUANTIZE_CASE = """\
        ByteBuffer {c} = ByteBuffer.allocate(4 * count).order(ByteOrder.LITTLE_ENDIAN);
        ByteBuffer {c}Reals = ByteBuffer.allocate(4 * count).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < count; i++) {{
            put({c}, Model.{c}Quantize(numbers.get(i)));
            {c}Reals.putFloat(Model.{c}Dequantize(Model.{c}Quantize(numbers.get(i))));
        }}
        if (Model.{upper}_SCALE * (float) (7 - Model.{upper}_ZERO) != Model.{c}Dequantize(({type}) 7)) {{
            throw new AssertionError("{c}");
        }}
        write("{c}.integers", {c});
        write("{c}.reals", {c}Reals);
"""


def test_integers_of_numbers_are_those_of_the_simulator(tmp_path: Path) -> None:
    package, types = made("android", integer_ports.program(), tmp_path), Language("android").about["types"]
    ports = {name: types[integer_ports.PORTS[name].dtype.c] for name in integer_ports.CASES}
    cases = [QUANTIZE_CASE.format(c=name, upper=name.upper(), type=type) for name, type in ports.items()]
    (package / "Quantize.java").write_text(QUANTIZE.replace("CASES\n", "".join(cases)))
    integer_ports.given(package)
    ran(*compiled(package, "Quantize.java"), "Quantize", folder=package)
    integer_ports.check(package)
