"""The files of the repository keep the rules that a machine can check."""

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from support.sources import parsed
from support.tools import ROOT, require
from support.type_check import mypy

SOURCES = {".py", ".c", ".h", ".j2", ".js", ".mjs", ".fbs", ".toml", ".sh", ""}
LINE_LIMIT = 600
MEASURED = {"LICENSE", "times.toml", "speed.toml"}  # these may be longer


@cache
def files() -> tuple[Path, ...]:
    """Text files that are in git or about to be; the links of the package lead to files of this list."""
    listing = subprocess.run(
        [
            require("git"),
            "-c",
            f"safe.directory={ROOT}",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    paths = [ROOT / name for name in sorted(listing.split("\0")) if name]
    return tuple(path for path in paths if path.is_file() and not path.is_symlink() and is_text(path))


def is_text(path: Path) -> bool:
    if "samples" in path.parts:  # what frameworks wrote: some of it has no zero byte, and is no text
        return False
    with path.open("rb") as file:
        return b"\0" not in file.read(8192)


def with_suffix(*suffixes: str) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in files() if path.suffix in suffixes]


def test_python_files_open_with_one_sentence() -> None:
    faults = {name: opening_fault((ROOT / name).read_text(encoding="utf-8")) for name in with_suffix(".py")}
    assert {name: fault for name, fault in faults.items() if fault} == {}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('"""Says what it is."""', None),
        ('"""Says what it is.\n\nAnd why. In more sentences."""', None),
        ('#!/usr/bin/env python3\n"""y = clamp(x @ w.T + b, lo, hi)"""', None),
        ("x = 1", "no docstring"),
        ('# A comment.\n"""Says what it is."""', "something stands before the docstring"),
        ('"""Says what\nit is."""', "the first sentence does not fit on one line"),
        ('"""Says what it is. And more."""', "more than one sentence on the first line"),
        ('"""Title case"""', "no sentence"),
    ],
)
def test_faults_of_an_opening_are_seen(text: str, fault: str | None) -> None:
    assert opening_fault(text) == fault


def opening_fault(text: str) -> str | None:
    """What is wrong with the first line of a Python file, if anything; a formula counts as a sentence."""
    sentence, _, rest = (ast.get_docstring(ast.parse(text)) or "").partition("\n")
    if not sentence:
        return "no docstring"
    if not re.sub(r"\A#!.*\n", "", text).startswith('"""'):
        return "something stands before the docstring"
    if rest and not rest.startswith("\n"):
        return "the first sentence does not fit on one line"
    if re.search(r"[a-z)]\. [A-Z]", sentence):
        return "more than one sentence on the first line"
    return None if sentence.endswith((".", "?")) or "=" in sentence else "no sentence"


def test_no_file_is_too_long() -> None:
    code = (path for path in files() if path.suffix in SOURCES and path.name not in MEASURED)
    written = {"golden", "costs"}  # folders of files that a program writes
    lengths = {path: path.read_bytes().count(b"\n") for path in code if written.isdisjoint(path.parts)}
    assert not {str(path): lines for path, lines in lengths.items() if lines > LINE_LIMIT}


def test_no_path_of_one_machine() -> None:
    machine = re.compile(r"(?<![\w./-])/(?:root|home/\w+|Users/\w+|work)/")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if machine.search(line)
    ]
    assert not found


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "--quiet", "--output-format=concise"],
        ["ruff", "format", "--check", "--quiet"],
    ],
    ids=["ruff check", "ruff format"],
)
def test_python_is_clean(command: list[str]) -> None:
    passes([require(command[0]), *command[1:]])


def test_mypy_finds_nothing() -> None:
    ended_well(mypy(ROOT))


def test_c_is_formatted() -> None:
    program = require("clang-format")
    # Generated text keeps lines of its own: a table of parameters is not filled up to the margin.
    if names := [name for name in with_suffix(".c", ".h") if "golden" not in Path(name).parts]:
        passes([program, "--dry-run", "--Werror", *names])


def passes(command: list[str]) -> None:
    ended_well(subprocess.run(command, cwd=ROOT, capture_output=True, text=True))


def ended_well(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode:
        said = (done.stdout + done.stderr).splitlines()
        more = [f"... and {len(said) - 100} more lines"] if len(said) > 100 else []
        pytest.fail("\n".join([*said[:100], *more]), pytrace=False)


def test_programs_in_python_take_no_module_of_the_working_folder() -> None:
    """`-m` and `-c` put it first of all, unless -P is there, and anybody may have written its files."""
    call = re.compile(r"sys\.executable, \"(-[mc])")
    outside = {"tests", "benchmarks"}  # their working folder is the checkout, or one that they made
    own = [p for p in files() if p.suffix == ".py" and p.relative_to(ROOT).parts[0] not in outside]
    assert sum('sys.executable, "-P"' in path.read_text(encoding="utf-8") for path in own) > 4
    assert [str(path) for path in own if call.search(path.read_text(encoding="utf-8"))] == []


# Rooms that open no file of a user by themselves, and the files of others that do.
OPENED = {
    "codegen/": "kernels and templates, and what it wrote into a folder of its own",
    "edgekit/core/files.py": "is how files are opened",
    "edgekit/core/atomic.py": "new files, and those that it left behind",
    "edgekit/core/transaction.py": "a folder, for its lock",
    "edgekit/console.py": "the null device",
    "edgekit/core/distribution.py": "how EdgeKit itself was installed",
    "edgekit/core/format_costs.py": "tables of EdgeKit",
    "edgekit/core/math_f32/numbers.py": "headers of EdgeKit",
    "edgekit/demo.py": "an example that it generated",
    "edgekit/export_worker.py": "the request that EdgeKit wrote",
    "edgekit/exporting.py": "a folder that it made",
    "edgekit/onnx_backend.py": "C that it generated",
    "edgekit/playground/": "files of EdgeKit, and of a page",
    "edgekit/projects/": "templates",
    "edgekit/tuning/journal.py": "appends to what it opened by files.opened before",
}
# A receiver or argument that is no path of a user: an archive or file that is open, or a file of EdgeKit.
IS_OPEN = re.compile(r"archive|zip$|^file$|^stream$|^buffer$|files\(|resources\.|data_file\(|__file__")


def opens_by_itself(call: ast.Call) -> bool:
    """Is a path opened here, by what follows links and waits for pipes?"""
    name = ast.unparse(call.func)
    if name in ("open", "np.load", "np.fromfile", "np.memmap", "zipfile.ZipFile"):
        return not IS_OPEN.search(ast.unparse(call.args[0]) if call.args else "")
    receiver, _, method = name.rpartition(".")
    return method in ("open", "read_bytes", "read_text") and not IS_OPEN.search(receiver)


@pytest.mark.parametrize(
    ("text", "opens"),
    [
        ("path.read_bytes()", True),
        ("open(path)", True),
        ("np.load(path)", True),
        ("os.open(path, 0)", True),
        ("np.load(file)", False),
        ("archive.open(info)", False),
        ("files.read(path, 9)", False),
    ],
)
def test_what_opens_a_file_is_seen(text: str, opens: bool) -> None:
    (statement,) = ast.parse(text).body
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Call)
    assert opens_by_itself(statement.value) is opens


def test_one_function_opens_files_of_users() -> None:
    """edgekit/core/files.py: regular files alone, no waiting for pipes, no links out of a folder."""
    found: dict[str, list[str]] = {}
    for path, tree in parsed(product(), "open|read_|load|fromfile|memmap|ZipFile"):
        name = path.relative_to(ROOT).as_posix()
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and opens_by_itself(node):
                found.setdefault(name, []).append(f"line {node.lineno}: {ast.unparse(node)}")
    rooms = (*OPENED, ".github/", "setup.py")
    foreign = {name: calls for name, calls in found.items() if not name.startswith(rooms)}
    assert foreign == {}
    assert [room for room in OPENED if not any(name.startswith(room) for name in found)] == []


# Where the text of somebody else's exception is shown on purpose.
SHOWN = {
    "edgekit/playground/session.py": "a bug of EdgeKit is reported with it",
    "edgekit/export_worker.py": "asks an exception which module or class is missing",
    "edgekit/cli.py": "a bug of EdgeKit is reported with it, and typer says what is wrong with options",
    "codegen/execution/wasm_host.py": "the error stream of a program that runs for a user",
}
# What of an exception may be read: numbers and words of the system, and the clause that EdgeKit wrote.
FACTS = {"strerror", "errno", "filename", "lineno", "colno", "start"}


@cache
def product() -> tuple[Path, ...]:
    """The Python files that users run."""
    tests = {"tests", "benchmarks", "examples", "scripts"}
    return tuple(p for p in files() if p.suffix == ".py" and p.relative_to(ROOT).parts[0] not in tests)


@cache
def catching() -> tuple[Path, ...]:
    """Of these, those that catch exceptions."""
    return tuple(path for path in product() if "except" in path.read_text(encoding="utf-8"))


@cache
def own_exceptions() -> frozenset[str]:
    """The classes of exceptions whose text EdgeKit writes."""
    bases = {
        node.name: {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        for _, tree in parsed(product(), r"class \w+\(.*Error\b")
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    own = {"EdgeKitError", "OwnWordsError"}
    while more := {name for name, of in bases.items() if of & own} - own:
        own |= more
    return frozenset(own)


def is_own(caught: ast.expr | None) -> bool:
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return all(kind and ast.unparse(kind).rpartition(".")[2] in own_exceptions() for kind in kinds)


def test_files_that_show_foreign_texts_catch_exceptions() -> None:
    assert SHOWN.keys() <= {str(path.relative_to(ROOT)) for path in catching()}


@pytest.mark.parametrize("path", catching(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_message_carries_the_text_of_a_foreign_exception(path: Path) -> None:
    """Users read what EdgeKit wrote: an exception goes into a message by `reason_of`, or by its position."""
    faults = [
        f"line {name.lineno}: {ast.unparse(node)}"
        for handler in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(handler, ast.ExceptHandler) and handler.name and not is_own(handler.type)
        for node in ast.walk(handler)
        for name in ast.iter_child_nodes(node)
        if isinstance(name, ast.Name) and name.id == handler.name and not is_harmless(node, name)
    ]
    assert bool(faults) == (str(path.relative_to(ROOT)) in SHOWN), faults


def is_harmless(use: ast.AST, name: ast.Name) -> bool:
    """Is an exception only raised from, asked for a fact, or put into words?"""
    match use:
        case ast.Raise(cause=cause):
            return cause is name
        case ast.Attribute(attr=attribute):
            return attribute in FACTS
        case ast.Call(func=ast.Name(id=function)):
            return function == "reason_of"
    return False
