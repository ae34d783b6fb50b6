"""Projects for C#: compiled and run by Mono, with the simulator's results."""

import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support import generated, integer_ports
from support.language_packages import (
    CLASSES,
    Steps,
    check_answer,
    check_ranked,
    made,
    ran,
    ranked,
    several,
    small,
    stream,
)
from support.tools import require

from edgekit.codegen.packages import _shared_library
from edgekit.codegen.packages._language import Language
from edgekit.codegen.program import Program
from edgekit.codegen.verification.selftest import SelfTest, prepare

RUN = """\
using System;
using System.IO;
using System.Threading;
using EdgeKit.{namespace};

static class Runs
{{
    static void Take(Stream from, Array items)
    {{
        var bytes = new byte[Buffer.ByteLength(items)];
        from.Read(bytes, 0, bytes.Length);
        Buffer.BlockCopy(bytes, 0, items, 0, bytes.Length);
    }}

    static void Give(Array items, Stream to)
    {{
        var bytes = new byte[Buffer.ByteLength(items)];
        Buffer.BlockCopy(items, 0, bytes, 0, bytes.Length);
        to.Write(bytes, 0, bytes.Length);
    }}

    static int wrong = 0;

    static void Test()
    {{
        using (var model = new Model())
            if (!model.SelfTest())
                Interlocked.Increment(ref wrong);
    }}

    static void Main()
    {{
        var threads = new Thread[4];
        for (int i = 0; i < 4; i++)
            (threads[i] = new Thread(Test)).Start();
        foreach (var thread in threads)
            thread.Join();
        var model = new Model();
        using (var found = File.Create("found"))
            for (int round = 0; round < 2; round++)
            {{
                {reset}
                using (var given = File.OpenRead("given"))
                    while (given.Position < given.Length)
                    {{
{steps}
                    }}
            }}
        try
        {{
            model.Run({nothing});
        }}
        catch (ArgumentException error)
        {{
            Console.WriteLine(error.ParamName + " " + wrong);
        }}
        model.Dispose();
        try
        {{
            model.SelfTest();
        }}
        catch (ObjectDisposedException error)
        {{
            Console.WriteLine(error.ObjectName);
        }}
    }}
}}
"""


NAMES = """\
static class Names
{
    static void Main()
    {
        foreach (string name in EdgeKit.Digits.Model.YClasses)
            System.Console.WriteLine(name);
    }
}
"""


def runs(program: Program) -> str:
    """A program in C# that writes what each step gives, and what is refused."""
    types = Language("csharp").about["types"]
    ports = (*program.inputs, *program.outputs)
    lines = [f"var {p.c}_ = new {types[p.type.dtype.c]}[{p.type.size}];" for p in ports]
    lines += [f"Take(given, {port.c}_);" for port in program.inputs]
    lines += [f"model.Run({', '.join(f'{port.c}_' for port in ports)});"]
    lines += [f"Give({port.c}_, found);" for port in program.outputs]
    return RUN.format(
        namespace=program.name.capitalize(),
        reset="model.Reset();" if program.states else "",
        steps="\n".join(lines),
        nothing=", ".join(f"new {types[port.type.dtype.c]}[0]" for port in ports),
    )


def compiled(package: Path, *program: str) -> str:
    """A program with the assembly and the library of the package beside it, as the projects put them."""
    require("mono")
    strict = ("-langversion:7", "-warnaserror", "-warn:4")
    name = package.name
    library = ("-target:library", f"-doc:{name}.xml", f"-out:{name}.dll")
    generated.compiled(package, "mcs", *strict, *library, "Model.cs")
    generated.compiled(package, "mcs", *strict, "-out:program.exe", f"-r:{name}.dll", *program)
    (native,) = package.glob("runtimes/linux-*/native/*.so")
    shutil.copy(native, package)
    return "program.exe"


@pytest.fixture(scope="module")
def test() -> SelfTest:
    return prepare(small().graph)


@pytest.mark.parametrize("program", [small(), several("event"), stream()], ids=lambda program: program.name)
def test_csharp_gives_the_numbers_of_the_simulator(program: Program, tmp_path: Path) -> None:
    """It passes its self-test in several threads, refuses arrays of another size and a disposed model."""
    steps, package = Steps(program), made("csharp", program, tmp_path)
    (package / "given").write_bytes(steps.given)
    (package / "Runs.cs").write_text(runs(program))
    said = ran("mono", compiled(package, "Runs.cs"), folder=package)
    steps.check((package / "found").read_bytes())
    first = {"digits": "x", "event": "model", "stream": "x"}[program.name]
    assert said.split() == [first, "0", program.name]


def test_the_example_classifies(test: SelfTest, tmp_path: Path) -> None:
    package = made("csharp", small(), tmp_path, test, CLASSES)
    program = compiled(package, "example/Classify.cs")
    shutil.copytree(package / "example/sample", package / "sample")  # as classify.csproj says
    check_answer(ran("mono", program, folder=package, LANG="C.UTF-8"), test)
    (package / "Names.cs").write_text(NAMES)
    said = ran("mono", compiled(package, "Names.cs"), folder=package, LANG="C.UTF-8")
    assert said == "".join(f"{name}\n" for name in CLASSES)


def test_the_example_shows_numbers_and_not_bits(tmp_path: Path) -> None:
    program, sample = ranked()
    package = made("csharp", program, tmp_path, sample=sample)
    made_of = compiled(package, "example/Classify.cs")
    shutil.copytree(package / "example/sample", package / "sample")
    check_ranked(ran("mono", made_of, folder=package))


@pytest.mark.parametrize(
    ("target", "library"),
    [
        ("windows-x86-64", "runtimes/win-x64/native/libdigits.dll"),
        ("macos-aarch64", "runtimes/osx-arm64/native/libdigits.dylib"),
        ("aarch64", "runtimes/linux-arm64/native/libdigits.so"),
    ],
)
def test_nuget_finds_libraries_of_other_systems(
    target: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What zig compiles for them does not matter here."""
    monkeypatch.setattr(_shared_library, "compiled", lambda *_: (b"", Path(library).suffix))
    package = made("csharp", small(target), tmp_path)
    assert (package / library).is_file()
    (item,) = ElementTree.parse(package / "digits.csproj").iter("None")
    assert item.attrib["Update"] == library
    assert item.attrib["PackagePath"] + item.attrib["Link"] == library


QUANTIZE = """\
using System;
using System.IO;
using EdgeKit.Integers;

static class Quantize
{
    static void Main()
    {
        var bytes = File.ReadAllBytes("numbers");
        var numbers = new float[bytes.Length / 4];
        Buffer.BlockCopy(bytes, 0, numbers, 0, bytes.Length);
CASES
    }
}
"""
QUANTIZE_CASE = """\
        using (var made = new BinaryWriter(File.Create("{c}.integers")))
        using (var reals = new BinaryWriter(File.Create("{c}.reals")))
            foreach (float number in numbers)
            {{
                made.Write(Model.{pascal}Quantize(number));
                reals.Write(Model.{pascal}Dequantize(Model.{pascal}Quantize(number)));
            }}
        if (Model.{pascal}Scale * (float)(7 - Model.{pascal}Zero) != Model.{pascal}Dequantize(7))
            throw new Exception("{c}");
"""


def test_integers_of_numbers_are_those_of_the_simulator(tmp_path: Path) -> None:
    package = made("csharp", integer_ports.program(), tmp_path)
    cases = [QUANTIZE_CASE.format(c=name, pascal=name.title()) for name in integer_ports.CASES]
    (package / "Quantize.cs").write_text(QUANTIZE.replace("CASES\n", "".join(cases)))
    integer_ports.given(package)
    ran("mono", compiled(package, "Quantize.cs"), folder=package)
    integer_ports.check(package)
