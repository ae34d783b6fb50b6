"""Generated C breaks required rules of MISRA C:2012 only where docs/misra.md says so, and why."""

from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
from support.misra import MODEL, PAGE, deviations, findings, required
from support.nets import Net

from edgekit.codegen.compilation.publish import write
from edgekit.codegen.printing.render import render, sources
from edgekit.codegen.program import compile_graph
from edgekit.core import target
from edgekit.core.ir import Graph
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.softmax import Softmax


def network() -> Graph:
    """A layer and a softmax."""
    net = Net()
    y = net(Dense(), net.x(1, 8), np.ones((4, 8), np.float32), np.zeros(4, np.float32))
    return net.done(net(Softmax(), y))


def test_required_rules_are_kept_or_deviated_from(tmp_path: Path) -> None:
    files = render(compile_graph(network(), target.load("host")), "size", "c")
    write(files, tmp_path)
    found = findings(tmp_path, sources(files), "unix64")
    assert any(not required(rule) for rule, _, _ in found), "the tool looks at rules"
    allowed = deviations(PAGE.read_text(encoding="utf-8"))
    open_ = [
        f"{rule} in {file}:{line}"
        for rule, file, line in found
        if required(rule)
        and not any(fnmatchcase(file.replace("net", MODEL, 1), g) for g in allowed.get(rule, ()))
    ]
    assert not open_


def test_a_rule_that_is_broken_is_seen(tmp_path: Path) -> None:
    (tmp_path / "broken.c").write_text(
        "int f(int x);\nint f(int x)\n{\n    if (x)\n        x++;\n    return x;\n}\n"
    )
    found = findings(tmp_path, ["broken.c"], "unix64")
    assert ("14.4", "broken.c", 4) in found


def test_deviations_are_read_from_the_page() -> None:
    page = "| rule | where | why |\n| --- | --- | --- |\n| 10.1 | `edgekit/*`, `<model>.c` | Shifts. |\n"
    assert deviations(page) == {"10.1": ["edgekit/*", "<model>.c"]}
