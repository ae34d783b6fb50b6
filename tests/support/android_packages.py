"""Programs in Java that use a package for Android, on this machine's JDK."""

from pathlib import Path

from support.language_packages import Steps, ran

from edgekit.codegen.packages._language import Language
from edgekit.codegen.program import Program

FAST = "-XX:TieredStopAtLevel=1"  # these programs are short
RUN = """\
import edgekit.{module}.Model;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.IntStream;

final class Runs {{
    public static void main(String[] arguments) throws Exception {{
        boolean isRight = IntStream.range(0, 8).parallel().allMatch(i -> new Model().selfTest());
        ByteBuffer given = ByteBuffer.wrap(Files.readAllBytes(Path.of("given")));
        given.order(ByteOrder.LITTLE_ENDIAN);
        ByteBuffer found = ByteBuffer.allocate(1 << 16).order(ByteOrder.LITTLE_ENDIAN);
        Model model = new Model();
        for (int round = 0; round < 2; round++) {{
            {reset}
            given.rewind();
            while (given.hasRemaining()) {{
{steps}
            }}
        }}
        Files.write(Path.of("found"), java.util.Arrays.copyOf(found.array(), found.position()));
        try {{
            model.run({nothing});
        }} catch (IllegalArgumentException error) {{
            System.out.println(isRight + " " + error.getMessage());
        }}
        model.close();
        try {{
            model.selfTest();
        }} catch (IllegalStateException error) {{
            System.out.println(error.getMessage());
        }}
    }}
}}
"""


def runs(program: Program, module: str) -> str:
    """A program in Java that writes what each step gives, and what is refused."""
    types = Language("android").about["types"]
    ports = {port.c: types[port.type.dtype.c] for port in (*program.inputs, *program.outputs)}
    kinds = {name: "" if type == "byte" else type.capitalize() for name, type in ports.items()}
    lines = [f"{type}[] {name}_ = new {type}[Model.{name.upper()}_SIZE];" for name, type in ports.items()]
    for port in program.inputs:
        lines += [f"for (int i = 0; i < {port.c}_.length; i++) {port.c}_[i] = given.get{kinds[port.c]}();"]
    lines += [f"model.run({', '.join(f'{name}_' for name in ports)});"]
    for port in program.outputs:
        lines += [f"for (int i = 0; i < {port.c}_.length; i++) found.put{kinds[port.c]}({port.c}_[i]);"]
    return RUN.format(
        module=module,
        reset="model.reset();" if program.states else "",
        steps="\n".join(lines),
        nothing=", ".join(f"new {type}[0]" for type in ports.values()),
    )


def check_runs(package: Path, program: Program, command: tuple[str, ...], **environment: str) -> None:
    """It passes its self-test in several threads, refuses arrays of another size and a closed model."""
    steps = Steps(program)
    (package / "given").write_bytes(steps.given)
    said = ran(*command, "Runs", folder=package, **environment)
    steps.check((package / "found").read_bytes())
    first = program.inputs[0]
    refusal = f"true {first.c} has 0 elements, the model takes {first.type.size}"
    assert said.splitlines() == [refusal, "the model was closed"]
